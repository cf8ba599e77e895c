import { createServer } from 'node:net'

const HOST = '127.0.0.1'

/** The port as text if it is free; otherwise 0, with which the system chooses a port. */
export async function portOrAny(port: number): Promise<string> {
  return (await isFree(port)) ? String(port) : '0'
}

/** Whether nobody listens on the port of this machine's loopback address now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, HOST, () => probe.close(() => resolve(true)))
  })
}
