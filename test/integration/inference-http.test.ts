// What is below the contract: targets, headers and bodies that no library would send. Whatever it is,
// the answer is JSON with an error and a code.

import { expect } from 'chai'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { RawClient, head } from '../support/servers/raw-client.ts'
import { until } from '../support/until.ts'

const WHOLE_ANSWER = /\r\n\r\n\{.*\}$/s
const EMBED = '/api/embed'
const RIGHT = JSON.stringify({ model: 'builtin-hash', input: 'hello' })
const MESSAGE_LENGTH_MAX = 2_100
const MEGABYTES = 'x'.repeat(2_000_000)

interface Row {
  readonly sent: string
  readonly status: number
  readonly code: string | undefined
}

const lengthOf = (body: string) => ({ 'Content-Length': body.length, Connection: 'close' })
const CLOSE = { Connection: 'close' }

const ROWS: Readonly<Record<string, Row>> = {
  'a whole URL': {
    sent: head('GET', 'http://127.0.0.1/healthz', CLOSE),
    status: 200,
    code: undefined,
  },
  'a whole URL to post to': {
    sent:
      head('POST', `http://127.0.0.1:1${EMBED}`, {
        ...lengthOf(RIGHT),
        Host: '127.0.0.1:1',
        Accept: 'application/json',
      }) + RIGHT,
    status: 200,
    code: undefined,
  },
  'a whole URL of another host': {
    sent: head('POST', `http://127.0.0.1:1${EMBED}`, lengthOf(RIGHT)) + RIGHT,
    status: 400,
    code: 'INVALID_ARGUMENT',
  },
  'a fragment': { sent: head('GET', '/healthz#x', CLOSE), status: 200, code: undefined },
  'a URL that is none': {
    sent: head('GET', 'http://[', CLOSE),
    status: 400,
    code: 'INVALID_ARGUMENT',
  },
  'no URL to post to': {
    sent: head('POST', 'http://[', CLOSE),
    status: 400,
    code: 'INVALID_ARGUMENT',
  },
  'an asterisk': { sent: head('OPTIONS', '*', CLOSE), status: 404, code: 'NOT_FOUND' },
  'a path of percent signs': {
    sent: head('GET', '/%00%2f%', CLOSE),
    status: 404,
    code: 'NOT_FOUND',
  },
  'a tunnel': {
    sent: head('CONNECT', 'example.org:1', CLOSE),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  },
  'a strange expectation': {
    sent: head('POST', EMBED, { ...lengthOf(RIGHT), Expect: 'banana' }) + RIGHT,
    status: 417,
    code: 'INVALID_ARGUMENT',
  },
  'two lengths': {
    sent: `POST ${EMBED} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    status: 400,
    code: 'INVALID_ARGUMENT',
  },
  'a chunk of no number': {
    sent: `${head('POST', EMBED, { 'Transfer-Encoding': 'chunked' })}zz\r\n{}\r\n0\r\n\r\n`,
    status: 400,
    code: 'INVALID_ARGUMENT',
  },
}

const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
const chat = (more: string) =>
  `{"model":"none","messages":[{"role":"user","content":"hello"}],${more}}`
const tool = (parameters: string) =>
  `"tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`

/** The body, and what the refusal says. */
const BODIES: Readonly<Record<string, readonly [route: string, body: string, said: RegExp]>> = {
  'a tool nested by the hundred thousand': [
    '/api/generate',
    chat(tool(nested(100_000))),
    /^tools\[0\]\.function\.parameters is nested more than 100 levels/,
  ],
  'a body of ten million values': [
    '/api/embed',
    `{"model":"builtin-hash","input":"a","options":{"a":[${'{},'.repeat(10_000_000)}{}]}}`,
    /^the body has more than 262144 values; send it in parts$/,
  ],
  'a body of sixteen million levels': [
    '/api/embed',
    `{"options":${'['.repeat(16_000_000)}${']'.repeat(16_000_000)}}`,
    /^the body has more than 262144 values; send it in parts$/,
  ],
  'a tool that is called by megabytes': [
    '/api/generate',
    chat(`"tools":[],"tool_choice":{"type":"function","function":{"name":"${MEGABYTES}"}}`),
    /^tool_choice: no tool is called "x+"; name one of tools$/,
  ],
  'a field that is called by megabytes': [
    '/api/chunk',
    `{"text":"a","${MEGABYTES}":1}`,
    /^unknown field "x+"; the contract/,
  ],
}

/** Members with several forms, and the message about the form that the client meant. */
const FORMS: readonly (readonly [fields: object, said: string])[] = [
  [{ stop: 5 }, 'stop must be null or string or array'],
  [{ stop: '' }, 'stop must NOT have fewer than 1 characters'],
  [{ stop: ['a', 5] }, 'stop[1] must be string'],
  [{ stop: Array.from({ length: 17 }, () => 'a') }, 'stop must NOT have more than 16 items'],
  [{ tool_choice: {} }, 'tool_choice.type is required'],
  [
    { messages: [{ role: 'user', content: 5 }] },
    'messages[0].content must be string or null or array',
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    'messages[0].content[0].text is required',
  ],
  [{ keep_alive: [] }, 'keep_alive must be string or number'],
  [{ seed: 1.5 }, 'seed must be integer or null'],
]

describe('a request below the contract of the inference API:', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start()
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  after(() => server[Symbol.asyncDispose]())

  for (const [what, { sent, status, code }] of Object.entries(ROWS)) {
    it(`${what} is answered ${status}`, async () => {
      using client = await RawClient.open(server.url)
      await client.write(sent)

      const answer = await client.until(WHOLE_ANSWER)

      expect(answer).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      const json = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
      expect(json.code).to.equal(code)
      if (code !== undefined) expect(json.error).to.be.a('string').and.not.equal('')
    })
  }

  for (const [fields, said] of FORMS) {
    it(`${JSON.stringify(fields).slice(0, 60)} is refused with the reason`, async () => {
      const messages = [{ role: 'user', content: 'hello' }]

      const { json } = await server.post('/api/generate', { model: 'none', messages, ...fields })

      expect(json).to.deep.equal({ error: said, code: 'INVALID_ARGUMENT' })
    })
  }

  it('too many inputs are refused with the limit', async () => {
    const input = Array.from({ length: 2049 }, () => 'a')

    const { json } = await server.post('/api/embed', { model: 'builtin-hash', input })

    expect(json.error).to.equal('input must NOT have more than 2048 items')
  })

  for (const [what, [route, body, said]] of Object.entries(BODIES)) {
    it(`${what} is refused in a short message`, async () => {
      const { status, json } = await server.post(route, body)

      expect([status, json.code]).to.deep.equal([400, 'INVALID_ARGUMENT'])
      expect(json.error).to.match(said)
      expect(json.error.length).to.be.at.most(MESSAGE_LENGTH_MAX)
    })
  }
})
