// A provider that answers only while its gate is open, so that a test decides how far a table's vectors are.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { portOf } from '../local-server.ts'
import { doubleVector } from './provider-server.ts'
import { quarryDouble } from './wire-doubles.ts'

export class GatedProvider implements AsyncDisposable {
  readonly #server: Server
  #gate = Promise.withResolvers<void>()

  private constructor(server: Server) {
    this.#server = server
    this.#gate.resolve()
  }

  static async start(): Promise<GatedProvider> {
    const server = createServer()
    const provider = new GatedProvider(server)
    server.on('request', async (request, response) => {
      const { method = '', url: path = '', headers } = request
      const body = (await buffer(request)).toString()
      const received = { method, path, headers, body }
      const texts = quarryDouble.textsOf(received)
      await provider.#gate.promise
      response.setHeader('content-type', 'application/octet-stream')
      response.end(quarryDouble.answer(texts.map(doubleVector), received))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`
  }

  close(): void {
    this.#gate = Promise.withResolvers<void>()
  }

  open(): void {
    this.#gate.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.open()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
