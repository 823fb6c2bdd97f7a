// How long one address of a name may take to answer, before Node tries the next one, and which hosts are reached
// without the proxy.

/**
 * Node's own 250 ms are too short: the handshake takes a second if its first packet is lost
 * (nodejs/node#54359). Four addresses have their time before a connection times out (10 s).
 */
const addressMs = 2_000

/** Sets the time for all connections of this process. Loads `node:net`. */
export function giveAddressesTime(): void {
  process.getBuiltinModule('node:net').setDefaultAutoSelectFamilyAttemptTimeout(addressMs)
}

/** A name, also of all hosts below it, or an address, with or without a port. The client compares nothing else. */
const exception =
  /^(?![\d.]+-[\d.]+$)(\*|(\*?\.)?[\w-]+(\.[\w-]+)*|\[[\da-f:]+\]|[\da-f]*:[\da-f:]*)(:\d+)?$/i

/** Entries of NO_PROXY that name no host, such as a network. */
export function unreadExceptions(except: string): string[] {
  return except.split(/[\s,]+/).filter((entry) => entry !== '' && !exception.test(entry))
}
