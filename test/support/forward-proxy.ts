// A forward proxy on this machine, which opens tunnels.
import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { onTestFinished } from 'vitest'

/** `target`: where every tunnel leads, whatever it asks for. `status`: refuses them instead. */
export async function serveProxy({ target = '', status = 200 } = {}) {
  const server = http.createServer()
  const tunnels: { url: string; authorization: string | undefined }[] = []
  server.on('connect', ({ url = '', headers }, socket) => {
    tunnels.push({ url, authorization: headers['proxy-authorization'] })
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
    const [host, port] = (target || url).split(':')
    const far = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      far.pipe(socket).pipe(far)
    })
    for (const end of [socket, far]) end.on('error', () => end.destroy())
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels }
}
