// How the relay speaks TLS to addresses that others choose.
import { DEFAULT_CIPHERS } from 'node:tls'

/**
 * Without DHE: there, the other side chooses the prime, and one of 9,984 bits keeps the thread for 0.6 s before anybody
 * looks at a certificate.
 */
export const ciphers = `${DEFAULT_CIPHERS}:!kDHE`
