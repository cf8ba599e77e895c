import { createServer } from 'node:net'

const HOST = '127.0.0.1'

/** The port as text if nobody listens on it, otherwise 0: the system's choice. */
export async function portOrAny(port: number): Promise<string> {
  return (await isFree(port)) ? String(port) : '0'
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, HOST, () => probe.close(() => resolve(true)))
  })
}
