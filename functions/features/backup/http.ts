// `POST /v1/backup`: the database as one file. Only the admin key may have it, as it contains all
// fleets, and hashes of all tokens.
import * as z from 'zod'
import { FoghornError } from '../../../shared/errors.ts'
import { problem } from '../../http/problem.ts'
import { route } from '../../http/route.ts'
import type { HostName } from '../../use-cases/relay.ts'
import './ability.ts'

/** What an owner can do on a host without a file. */
const instead: Record<HostName, string> = {
  node: 'this relay stores its data in PostgreSQL, so copy that with pg_dump: see docs/backup.md',
  azure:
    'this relay stores its data in Azure Tables, so it has no file to copy; Azure keeps copies of the ' +
    'table (storageSku), and "npm run export" stores the events: see docs/backup.md',
  cloudflare:
    'Cloudflare keeps several copies of the object, and "npm run export" stores the events: see docs/backup.md',
}

const backupType = 'application/vnd.sqlite3'

export const backupRoute = route({
  method: 'post',
  path: '/v1/backup',
  name: 'makeBackup',
  summary: 'Copies the database of a relay on Node, as one file. Needs the admin key.',
  about: '`npm run backup -- FILE` stores it, and checks it.',
  group: 'Relay',
  caller: 'admin',
  takesTurns: true,
  answers: {
    200: {
      about: 'A SQLite database. It is whole if its length is that of `Content-Length`.',
      schema: z.string().meta({ format: 'binary' }),
      type: backupType,
    },
  },
  problems: [501, 503, 507],
  handler:
    ({ relay }) =>
    async (c) => {
      try {
        const backup = await relay.host.abilities.copyDatabase?.()
        if (backup === undefined)
          return problem(c, 501, 'backup_unsupported', instead[relay.host.name])
        if (backup.outcome === 'busy') {
          c.header('retry-after', '10')
          const detail = 'another backup is being made; try again when it is done'
          return problem(c, 503, 'backup_busy', detail)
        }
        const { bytes, body } = backup
        relay.log.info('backup_made', { bytes })
        return c.body(body, 200, { 'content-type': backupType, 'content-length': String(bytes) })
      } catch (error) {
        if (!(error instanceof FoghornError) || error.code !== 'disk_full') throw error
        return problem(c, 507, 'disk_full', error.message)
      }
    },
})
