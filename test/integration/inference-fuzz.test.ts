// A few hundred requests around the contract. Whatever is sent, the answer is one of the contract: of
// its schema, or an error with a code of its table, the right status and a text that says something.

import path from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { loadContract } from '../../door/contract.ts'
import { fuzzedRequest } from '../support/servers/inference-requests.ts'
import type { FuzzedRequest } from '../support/servers/inference-requests.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import type { InferenceAnswer } from '../support/servers/inference-server.ts'
import {
  writeTinyChunker,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyGliner,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { until } from '../support/until.ts'

const RUNS = 1_000
const TEMPLATE =
  "{{ '[CLS]' }}{% for message in messages %}{{ ' ' + message.content }}" +
  '{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}{% endfor %}' +
  '{% if tools %}{{ tools | tojson }}{% endif %}'

/** The statuses of the contract's table that requests to honest models can cause. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
}
const MESSAGE_LENGTH_MAX = 2_100
const LEAK = /node_modules|file:\/\/|\.ts:\d|\n\s+at |quarry-models-/

describe('any request to the inference API', function () {
  this.timeout(240_000)

  const { seed } = parseTestSettings(process.env)
  const contract = loadContract('inference.v1')
  const ajv = new Ajv2020.default({ strict: false })
  ajv.addSchema(contract.document, 'contract')
  const validators = new Map<string, ValidateFunction>()
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
      await writeTinyChunker(path.join(root, 'chunkers/stops'))
      await writeTinyReranker(path.join(root, 'rerankers/cross'))
      await writeTinyNer(path.join(root, 'recognizers/ner'))
      await writeTinyGliner(path.join(root, 'recognizers/gliner'))
      await writeTinyRewriter(path.join(root, 'rewriters/sums'))
      await writeTinyGenerator(path.join(root, 'generators/chat'))
      const tools = { toolCallFormat: 'hermes', chatTemplate: TEMPLATE, contextLength: 4096 }
      await writeTinyGenerator(path.join(root, 'generators/tools'), tools)
    })
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  after(() => server[Symbol.asyncDispose]())

  it(`gets an answer that the contract allows (QUARRY_TEST_SEED=${seed})`, async () => {
    const property = fc.asyncProperty(fuzzedRequest, async (request) => {
      checkAnswer(request, await server.post(request.route, request.body, request.headers))
    })

    await fc.assert(property, { seed, numRuns: RUNS })

    for (const gauge of ['requests_running', 'requests_waiting', 'queued_items']) {
      expect(await server.metric(`quarry_inference_${gauge}`), gauge).to.equal(0)
    }
    const right = await server.post('/api/embed', { model: 'tiny', input: 'hello' })
    expect(right.status).to.equal(200)
  })

  function checkAnswer(request: FuzzedRequest, answer: InferenceAnswer): void {
    const type = answer.headers.get('content-type') ?? ''
    if (answer.status !== 200) checkError(request, answer)
    else if (type.startsWith('text/event-stream')) checkEvents(answer.bytes.toString())
    else if (type === 'application/x-ndjson') checkLines(answer.bytes.toString())
    else if (type === 'application/octet-stream') checkVectors(answer.bytes)
    else checkSchema(request.operationId, answer.json)
  }

  function checkSchema(operationId: string, json: unknown): void {
    const validate = validators.get(operationId) ?? compile(operationId)
    validators.set(operationId, validate)
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
  }

  function compile(operationId: string): ValidateFunction {
    const found = contract.operations.find((each) => each.operationId === operationId)
    const template = found?.template.replaceAll('/', '~1') ?? ''
    const shared = SHARED_ANSWERS[operationId]
    const response =
      shared === undefined
        ? `paths/${template}/post/responses/200`
        : `components/responses/${shared}`
    const schema = encodeURI(`${response}/content/application~1json/schema`)
    return ajv.compile({ $ref: `contract#/${schema}` })
  }
})

/** By operationId, the answer of the contract that has a name. */
const SHARED_ANSWERS: Readonly<Record<string, string>> = {
  generate: 'Generated',
  createChatCompletion: 'Completion',
}

/** A field's own name, or those of fields within or beside it that are wrong now. */
const NAMES_IN_MESSAGES: Readonly<Record<string, string>> = {
  // What is wrong with tools may show in the prompt that is made of them.
  tools: '(?:tools|tool_choice|messages)',
  config: '(?:config|overlap_tokens|unknown field)',
}

function checkError({ route, field }: FuzzedRequest, { status, json }: InferenceAnswer): void {
  const { message, code } = route.startsWith('/v1/')
    ? json.error
    : { message: json.error, code: json.code }
  expect(STATUS_BY_CODE[code], `${status} ${code}: ${message}`).to.equal(status)
  expect(message).to.be.a('string').and.not.equal('')
  expect(message.length).to.be.at.most(MESSAGE_LENGTH_MAX)
  expect(message).to.not.match(LEAK)
  if (field === undefined || code !== 'INVALID_ARGUMENT') return
  expect(message, 'names the field').to.match(new RegExp(NAMES_IN_MESSAGES[field] ?? field))
}

/** The last one says that it is the last. */
function checkLines(text: string): void {
  const lines = text.trimEnd().split('\n')
  const done = lines.map((line) => line !== '' && JSON.parse(line).done)
  expect(done.indexOf(true)).to.equal(lines.length - 1)
}

function checkEvents(text: string): void {
  const events = text.split('\n\n')
  expect(events.slice(-2)).to.deep.equal(['data: [DONE]', ''])
  for (const event of events.slice(0, -2)) {
    expect(event).to.match(/^data: /)
    const { object, choices } = JSON.parse(event.slice('data: '.length))
    expect(object).to.equal('chat.completion.chunk')
    expect(choices).to.be.an('array')
  }
}

function checkVectors(bytes: Buffer): void {
  const count = Number(bytes.readBigUInt64LE(0))
  const dimension = Number(bytes.readBigUInt64LE(8))
  expect(bytes.length).to.equal(16 + 4 * count * dimension)
}
