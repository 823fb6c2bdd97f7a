// Exim, the SMTP server of Debian, on a port of this machine: with TLS and a login, and mails as files.
// Not everywhere is one, and it needs root.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const program = '/usr/sbin/exim4'

/** Why no server can run here. */
export function whyNoExim(): string | undefined {
  if (process.getuid?.() !== 0) return 'Exim needs root'
  const found = spawnSync(program, ['-bV'])
  return found.status === 0 ? undefined : 'exim4 is not here'
}

interface Options {
  port: number
  tls?: { certificate: string; key: string }
  /** TLS begins at once. */
  isImplicit?: boolean
}

export const login = { user: 'foghorn', password: 'mail-s3cret-of-a-test' }

export async function startExim({ port, tls, isImplicit = false }: Options) {
  // Exim runs as a user of its own, who cannot read the folder of the tests
  const folder = mkdtempSync('/tmp/foghorn-exim-')
  chmodSync(folder, 0o755)
  const uid = Number(spawnSync('id', ['-u', 'Debian-exim']).stdout.toString())
  const gid = Number(spawnSync('id', ['-g', 'Debian-exim']).stdout.toString())
  for (const name of ['spool', 'log', 'mail']) {
    mkdirSync(join(folder, name), { recursive: true })
    chownSync(join(folder, name), uid, gid)
  }
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    chownSync(join(folder, name), 0, gid)
    chmodSync(join(folder, name), 0o640)
    return join(folder, name)
  }
  const secured = tls && [
    'tls_advertise_hosts = *',
    `tls_certificate = ${write('cert.pem', tls.certificate)}`,
    `tls_privatekey = ${write('key.pem', tls.key)}`,
    ...(isImplicit ? [`tls_on_connect_ports = ${port}`] : []),
  ]
  const config = [
    ...[`daemon_smtp_ports = ${port}`, 'local_interfaces = 127.0.0.1', 'queue_only = false'],
    ...['primary_hostname = smtp.example', `spool_directory = ${folder}/spool`],
    ...[`log_file_path = ${folder}/log/%s`, 'acl_smtp_rcpt = rcpt', 'keep_environment ='],
    ...(secured ?? ['tls_advertise_hosts =']),
    ...['begin acl', 'rcpt:'],
    ...['  deny local_parts = nobody', '       message = no such user'],
    ...['  defer local_parts = later', '       message = come back'],
    tls ? '  accept authenticated = *' : '  accept',
    '  deny message = sign in first',
    ...['begin routers', 'all:', '  driver = accept', '  transport = files'],
    ...['begin transports', 'files:', '  driver = appendfile', '  maildir_format'],
    ...[`  directory = ${folder}/mail`, '  user = Debian-exim', '  create_directory'],
    ...['begin authenticators', 'plain:', '  driver = plaintext', '  public_name = PLAIN'],
    '  server_prompts = :',
    `  server_condition = \${if and {{eq{$auth2}{${login.user}}}{eq{$auth3}{${login.password}}}}}`,
    '  server_set_id = $auth2',
  ].join('\n')
  const file = write('exim.conf', `${config}\n`)
  const daemon = spawn(program, ['-C', file, '-bdf'], { stdio: 'ignore' })
  await answers(port)
  return {
    /** The mails that came, as the server stored them. */
    mails: () =>
      (existsSync(join(folder, 'mail/new')) ? readdirSync(join(folder, 'mail/new')) : []).map(
        (name) => readFileSync(join(folder, 'mail/new', name), 'utf8'),
      ),
    async stop() {
      daemon.kill()
      await once(daemon, 'exit')
      // a process that handles a mail may still write
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

const startsMs = 10_000

async function answers(port: number): Promise<void> {
  for (const until = Date.now() + startsMs; Date.now() < until; ) {
    const socket = connect({ host: '127.0.0.1', port })
    const came = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error'),
    ]).catch(() => false)
    socket.destroy()
    if (came === true) return
    await sleep(50)
  }
  throw new Error('Exim does not listen')
}
