// Calls of tools, from the tokens that a model writes to what a client reads: in one answer, and in
// events. The models here write what they are told, byte by byte, with marks as single tokens.

import path from 'node:path'
import { expect } from 'chai'
import type { ToolCallFormat } from '../../inference/models/model-spec.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { writeTinyGenerator, writeModelDirectory } from '../support/inference/model-directories.ts'
import { scriptedDecoderGraph } from '../support/inference/model-graphs.ts'
import { byteLevelTokenizer } from '../support/inference/tokenizer-files.ts'

const END = '<|endoftext|>'
/** Special tokens, which are not part of the text unless they are kept. */
const MARKS = [
  '[TOOL_CALLS]',
  '[CALL_ID]',
  '[ARGS]',
  '<tool_call>',
  '</tool_call>',
  '<start_function_call>',
  '<end_function_call>',
  '<escape>',
  '<|python_tag|>',
]

/** What each model writes: a call with `{"x": "é"}`, then one with nothing. */
const SCRIPTS: Readonly<Record<ToolCallFormat, string>> = {
  functiongemma:
    'So: <start_function_call>call:f{x:<escape>é<escape>}<end_function_call>' +
    '<start_function_call>call:f{}<end_function_call>',
  hermes:
    'So: <tool_call>{"name": "f", "arguments": {"x": "é"}}</tool_call>' +
    '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
  'llama3-json':
    '<|python_tag|>{"name": "f", "parameters": {"x": "é"}}; {"name": "f", "parameters": {}}',
  mistral: 'So: [TOOL_CALLS][{"name": "f", "arguments": {"x": "é"}}, {"name": "f"}]',
  'mistral-args': 'So: [TOOL_CALLS]f[ARGS]{"x": "é"}[TOOL_CALLS]f[CALL_ID]a1[ARGS]{}',
}

interface Choice {
  readonly message: { readonly content: string | null; readonly tool_calls?: readonly Call[] }
  readonly finish_reason: string
}

interface Call {
  readonly index?: number
  readonly id: string
  readonly type: string
  readonly function: { readonly name: string; readonly arguments: string }
}

const asked = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'a' }],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  temperature: 0,
})

describe('calls of tools', () => {
  let server: InferenceServer

  before(async () => {
    server = await InferenceServer.start(async (root) => {
      for (const [format, script] of Object.entries(SCRIPTS)) {
        await writeScripted(path.join(root, 'generators', format), format, script)
      }
      const broken = 'So: [TOOL_CALLS]f[ARGS]{"x": }'
      await writeScripted(path.join(root, 'generators/broken'), 'mistral-args', broken)
    })
  })

  after(() => server[Symbol.asyncDispose]())

  async function whole(model: string): Promise<Choice> {
    const { status, json } = await server.post('/api/generate', asked(model))
    expect(status, JSON.stringify(json)).to.equal(200)
    return json.choices[0]
  }

  async function streamed(model: string): Promise<Choice> {
    const { bytes } = await server.post('/api/generate', { ...asked(model), stream: true })
    return joinChunks(bytes.toString())
  }

  for (const format of Object.keys(SCRIPTS)) {
    it(`are parsed from the format of ${format}, whole and streamed`, async () => {
      for (const choice of [await whole(format), await streamed(format)]) {
        const { message, finish_reason: reason } = choice
        expect(reason).to.equal('tool_calls')
        expect(message.content).to.equal(format === 'llama3-json' ? null : 'So: ')
        expect(message.tool_calls?.map((call) => [call.type, call.function])).to.deep.equal([
          ['function', { name: 'f', arguments: '{"x":"é"}' }],
          ['function', { name: 'f', arguments: '{}' }],
        ])
        const ids = message.tool_calls?.map(({ id }) => id) ?? []
        expect(new Set(ids).size).to.equal(2)
        for (const id of ids) expect(id).to.match(/^call_[0-9a-f]{24}$/)
      }
    })
  }

  it('are text when they are broken', async () => {
    for (const { message, finish_reason: reason } of [
      await whole('broken'),
      await streamed('broken'),
    ]) {
      expect(message).to.include({ content: 'So: [TOOL_CALLS]f[ARGS]{"x": }' })
      expect(message).to.not.have.property('tool_calls')
      expect(reason).to.equal('stop')
    }
  })

  it('are not parsed when the request has no tools', async () => {
    const { json } = await server.post('/api/generate', { ...asked('mistral-args'), tools: [] })

    expect(json.choices[0].finish_reason).to.equal('stop')
    expect(json.choices[0].message.content).to.match(/^So: .*f.*\{"x": "é"\}/)
  })
})

async function writeScripted(directory: string, format: string, script: string): Promise<void> {
  const tokenizer = byteLevelTokenizer(MARKS)
  const ids = new Map(tokenizer.added_tokens.map(({ content, id }) => [content, id]))
  const marked = new RegExp(`(${MARKS.map((mark) => RegExp.escape(mark)).join('|')})`)
  const tokens = script.split(marked).flatMap((part) => {
    const id = ids.get(part)
    return id === undefined ? [...Buffer.from(part)] : [id]
  })
  const end = ids.get(END) ?? 0
  const vocabulary = end + 1 + MARKS.length
  // The prompt is one byte; nothing is written behind none.
  const graph = scriptedDecoderGraph([end, ...tokens, end], vocabulary)
  await writeTinyGenerator(directory, {
    eos: end,
    chatTemplate: '{{ messages[0].content }}',
    toolCallFormat: format,
  })
  await writeModelDirectory(directory, { 'tokenizer.json': tokenizer, 'model.onnx': graph })
}

/** The choice that the deltas of a stream add up to. */
function joinChunks(text: string): Choice {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'))
  const choices = events.map((event) => JSON.parse(event.slice('data: '.length)).choices[0])
  const content = choices.map(({ delta }) => delta.content ?? '').join('')
  const calls: Call[] = []
  for (const { delta } of choices) {
    for (const part of delta.tool_calls ?? []) {
      const { name = '', arguments: given } = part.function
      const before = calls[part.index] ?? { ...part, function: { name, arguments: '' } }
      const called = { ...before.function, arguments: before.function.arguments + given }
      calls[part.index] = { ...before, function: called }
    }
  }
  return {
    message: { content: content || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    finish_reason: choices.at(-1).finish_reason,
  }
}
