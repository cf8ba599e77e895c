// Media whose host does not give them: which of its failures may pass.

import type { RequestListener, Server } from 'node:http'
import { env } from 'node:process'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { openMedia, type Media } from '../../../../node/media/open-media.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../../../../node/media/media-settings.ts'
import { errorOf } from '../../../support/error-of.ts'
import { close, listen, portOf } from '../../../support/servers/local-server.ts'

describe('media whose host fails', () => {
  let media: Media
  let host: Server
  let answer: RequestListener

  before(async () => {
    host = await listen('127.0.0.1', (request, response) => answer(request, response))
    const settings = { ...MEDIA_SETTINGS_DEFAULT, blockPrivateIps: false, downloadTimeoutMs: 200 }
    media = openMedia({ settings, clock: systemClock, environment: env })
  })

  after(async () => {
    await media[Symbol.asyncDispose]()
    await close(host)
  })

  const failures: Readonly<Record<string, readonly [answer: RequestListener, code: string]>> = {
    'with 503': [statusOf(503), 'UNAVAILABLE'],
    'with 429': [statusOf(429), 'UNAVAILABLE'],
    'with 404': [statusOf(404), 'INVALID_ARGUMENT'],
    'with 401': [statusOf(401), 'INVALID_ARGUMENT'],
    'by a break': [(_request, response) => response.destroy(), 'UNAVAILABLE'],
    'by silence': [() => undefined, 'UNAVAILABLE'],
  }
  for (const [what, [fail, code]] of Object.entries(failures)) {
    it(`are told from those that fail for good: ${what}`, async () => {
      answer = fail
      const url = `http://127.0.0.1:${portOf(host)}/file`
      using holding = media.budget.hold(new AbortController().signal)

      const error = await errorOf(() => media.resolver.resolve({ url, expects: 'any' }, holding))

      expect(error).to.have.property('code', code)
      expect(error).to.have.property('message').that.includes(`media ${url}: `)
      expect(media.budget.heldBytes).to.equal(0)
    })
  }
})

function statusOf(status: number): RequestListener {
  return (_request, response) => response.writeHead(status).end()
}
