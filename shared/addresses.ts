// How long one address of a name may take to answer, before Node tries the next one.

/**
 * Node's own 250 ms are too short: the handshake takes a second if its first packet is lost
 * (nodejs/node#54359). Four addresses have their time before a connection times out (10 s).
 */
const addressMs = 2_000

/** For all connections of this process. It loads `node:net`. */
export function giveAddressesTime(): void {
  process.getBuiltinModule('node:net').setDefaultAutoSelectFamilyAttemptTimeout(addressMs)
}
