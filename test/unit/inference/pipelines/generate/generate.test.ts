import { expect } from 'chai'
import type { GeneratorSpec } from '../../../../../inference/models/model-spec.ts'
import type {
  GenerateEnd,
  GenerateEvent,
  GenerateRequest,
} from '../../../../../inference/pipelines/generate/generate-request.ts'
import { openGenerateRunner } from '../../../../../inference/pipelines/generate/generate-runner.ts'
import { KvDecoder } from '../../../../../inference/pipelines/generate/kv-decoder.ts'
import type { RunnerParts, StreamRunner } from '../../../../../inference/pipelines/model-runner.ts'
import type { GraphSession } from '../../../../../inference/runtime/graph-session.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { describeStreamRunner } from '../../../../conformance/stream-runner.ts'
import { ScriptedGraph, floats, slot } from '../../../../support/fakes/scripted-graph.ts'
import {
  TINY_CHAT_TEMPLATE,
  TINY_VOCABULARY,
  tinyTokenizer,
} from '../../../../support/inference/model-directories.ts'
import { decoderGraph } from '../../../../support/inference/model-graphs.ts'
import {
  SPEC_BASE,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import type { PartsOptions } from '../../../../support/inference/runner-parts.ts'
import { byteLevelTokenizer } from '../../../../support/inference/tokenizer-files.ts'

type Runner = StreamRunner<GenerateRequest, GenerateEvent, GenerateEnd>

const TINY_SPEC: GeneratorSpec = {
  ...SPEC_BASE,
  kind: 'generator',
  graphFile: 'model.onnx',
  layerCount: 1,
  keyValueHeadCount: 1,
  headSize: 1,
  eosIds: [3],
  chatTemplate: TINY_CHAT_TEMPLATE,
  toolCallFormat: undefined,
  specialTokens: { bos_token: '', eos_token: '', unk_token: '', pad_token: '' },
  sampling: {
    temperature: undefined,
    topP: undefined,
    topK: undefined,
    repetitionPenalty: undefined,
  },
}

interface Setting {
  readonly spec?: Partial<GeneratorSpec>
  readonly tokenizer?: object
  readonly wrap?: (session: GraphSession) => GraphSession
}

function partsOf({ spec = {}, tokenizer = tinyTokenizer() }: Setting): PartsOptions<GeneratorSpec> {
  return { spec: { ...TINY_SPEC, ...spec }, files: { 'model.onnx': decoderGraph() }, tokenizer }
}

async function withRunner(
  setting: Setting,
  use: (runner: Runner, parts: RunnerParts<GeneratorSpec>) => Promise<void>,
): Promise<void> {
  await withRunnerParts(partsOf(setting), async (parts) => {
    const openSession = async (file: string) => {
      const session = await parts.openSession(file)
      return setting.wrap?.(session) ?? session
    }
    const runner = await openGenerateRunner({ ...parts, openSession })
    await use(runner, parts)
    await runner.dispose()
  })
}

const HELLO: GenerateRequest = {
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  toolChoice: { kind: 'auto' },
  maxTokens: 4,
  stop: [],
  sampling: { temperature: 0 },
  topLogprobs: undefined,
  seed: 1,
  nowMs: 0,
}

async function generate(runner: Runner, request: Partial<GenerateRequest> = {}) {
  const events: GenerateEvent[] = []
  const end = await runner.start(
    { ...HELLO, ...request },
    (event) => events.push(event),
    runSignal(),
  )
  const text = events.map((event) => (event.kind === 'text' ? event.text : '')).join('')
  return { events, end, text }
}

/** How many tokens the prompt of one message has by a template. */
async function promptTokensOf(content: string, chatTemplate: string): Promise<number> {
  let count = 0
  await withRunner({ spec: { chatTemplate } }, async (runner) => {
    const { end } = await generate(runner, { messages: [{ role: 'user', content }], maxTokens: 1 })
    count = end.promptTokens
  })
  return count
}

/** What the tiny tokenizer makes of ids. */
function textOf(ids: readonly number[]): string {
  return ids
    .map((id) => TINY_VOCABULARY[id]!)
    .map((token, index) =>
      index === 0 ? token : token.startsWith('##') ? token.slice(2) : ` ${token}`,
    )
    .join('')
}

/** What `decoderGraph` computes, without letting the event loop turn. */
function decoderAtOnce(): ScriptedGraph {
  const any = [undefined, undefined]
  const cache = [undefined, 1, undefined, 1]
  const past = ['past_key_values.0.key', 'past_key_values.0.value']
  const present = ['present.0.key', 'present.0.value']
  const inputs = [
    slot('input_ids', 'int64', any),
    slot('attention_mask', 'int64', any),
    ...past.map((name) => slot(name, 'float32', cache)),
  ]
  const outputs = [
    slot('logits', 'float32', [...any, 18]),
    ...present.map((name) => slot(name, 'float32', cache)),
  ]
  return new ScriptedGraph({ inputs, outputs }, (feeds) => {
    const ids = [past[0]!, 'input_ids'].flatMap((name) => Array.from(feeds[name]!.data, Number))
    const next = ids.reduce((sum, id) => sum + id, 0) % 18
    const logits = Array.from({ length: 18 }, (_, id) => (id === next ? 10 : 0))
    const keys = floats([1, 1, ids.length, 1], ids)
    return { logits: floats([1, 1, 18], logits), [present[0]!]: keys, [present[1]!]: keys }
  })
}

describe('generate runner', () => {
  for (const [name, script] of Object.entries({
    'generate runner': {},
    'generate runner of a runtime that does not let the event loop turn': {
      script: decoderAtOnce,
    },
  })) {
    const tools = [{ name: 'now', description: undefined, parameters: undefined }]
    describeStreamRunner(name, {
      ...script,
      parts: partsOf({ spec: { maxTokens: 700, eosIds: [] } }),
      open: openGenerateRunner,
      long: { ...HELLO, maxTokens: 12, topLogprobs: 2, sampling: { temperature: 9 } },
      other: { ...HELLO, messages: [{ role: 'user', content: 'foo '.repeat(600) }], seed: 2 },
      refused: [
        { ...HELLO, messages: [{ role: 'user', content: 'foo '.repeat(700) }] },
        { ...HELLO, tools },
        { ...HELLO, toolChoice: { kind: 'required' } },
      ],
    })
  }

  it('continues a prompt with the cache of all earlier tokens', async () => {
    await withRunner({}, async (runner) => {
      const { text, end } = await generate(runner)

      expect(text).to.equal(textOf([6, 12, 6, 12]))
      expect(end).to.deep.equal({ finishReason: 'length', promptTokens: 2, completionTokens: 4 })
    })
  })

  it("treats a user's spelling of a control token as text", async () => {
    const chatTemplate = '{{ messages[0].content }}'

    const spelled = await promptTokensOf('hello [SEP]', chatTemplate)
    const plain = await promptTokensOf('hello', chatTemplate)
    const ofTemplate = await promptTokensOf('hello', `${chatTemplate} [SEP]`)

    expect(ofTemplate - plain).to.equal(1)
    expect(spelled - plain).to.equal(3) // "[", "SEP" and "]"
  })

  for (const eosIds of [[12], [12, 99]]) {
    it(`ends at any of the end tokens ${eosIds.join(', ')}`, async () => {
      await withRunner({ spec: { eosIds } }, async (runner) => {
        const { text, end } = await generate(runner)

        expect(text).to.equal(textOf([6]))
        expect(end).to.deep.equal({ finishReason: 'stop', promptTokens: 2, completionTokens: 1 })
      })
    })
  }

  it('ends at the limit of tokens and at the end of the context', async () => {
    await withRunner({ spec: { maxTokens: 5 } }, async (runner) => {
      const one = await generate(runner, { maxTokens: 1 })
      const full = await generate(runner, { maxTokens: 100 })

      expect(one.end).to.deep.include({ finishReason: 'length', completionTokens: 1 })
      expect(full.end).to.deep.include({ finishReason: 'length', completionTokens: 3 })
    })
  })

  it('reports the log probability of each token and of the likeliest at its place', async () => {
    await withRunner({}, async (runner) => {
      const { events } = await generate(runner, { maxTokens: 2, topLogprobs: 2 })

      // One logit is 10 and seventeen are 0: see decoderGraph.
      const logSum = Math.log(Math.exp(10) + 17)
      const told = events.flatMap((event) => (event.kind === 'token' ? [event.token] : []))
      expect(told.map(({ text }) => text)).to.deep.equal(['##s', ' corp'])
      for (const { logprob, top } of told) {
        expect(logprob).to.be.closeTo(10 - logSum, 1e-6)
        expect(top).to.have.length(2)
        expect(top[0]!.logprob).to.equal(logprob)
        expect(top[1]!.logprob).to.be.closeTo(-logSum, 1e-6)
      }
      expect(events.map(({ kind }) => kind)).to.deep.equal(['token', 'text', 'token', 'text'])
    })
  })

  it('stops before a stop string that spans tokens', async () => {
    await withRunner({}, async (runner) => {
      const { text, end } = await generate(runner, { maxTokens: 20, stop: ['corps cor'] })

      expect(text).to.equal('##s ')
      expect(end.finishReason).to.equal('stop')
    })
  })

  it('grows the cache by one with every step', async () => {
    await withRunner({}, async (_runner, parts) => {
      const decoder = new KvDecoder(await parts.openSession('model.onnx'), {
        headCount: 1,
        headSize: 1,
      })
      const first = await decoder.step(decoder.begin(), [2, 4])
      const second = await decoder.step(first.sequence, [6])

      expect(first.sequence.cache['past_key_values.0.key']?.dims).to.deep.equal([1, 1, 2, 1])
      expect(second.sequence.cache['past_key_values.0.key']?.dims).to.deep.equal([1, 1, 3, 1])
      await decoder.release()
    })
  })

  it('reads a long prompt in pieces, with the same result', async () => {
    const content = Array.from({ length: 1300 }, () => 'foo').join(' ')
    const sizes: number[] = []
    const wrap = (session: GraphSession): GraphSession => ({
      inputs: session.inputs,
      outputs: session.outputs,
      run: (feeds, wanted) => {
        sizes.push(feeds['input_ids']!.dims[1]!)
        return session.run(feeds, wanted)
      },
      release: () => session.release(),
    })
    await withRunner({ spec: { maxTokens: 4096 }, wrap }, async (runner) => {
      const { text } = await generate(runner, {
        messages: [{ role: 'user', content }],
        maxTokens: 1,
      })

      expect(text).to.equal(TINY_VOCABULARY[(2 + 1300 * 7) % 18])
      expect(sizes).to.deep.equal([512, 512, 277])
    })
  })

  it('interleaves generations, and each equals its solo output', async () => {
    await withRunner({}, async (runner) => {
      const solo = await generate(runner, { maxTokens: 12 })
      const order: string[] = []
      const start = (name: string) => {
        const texts: string[] = []
        const emit = (event: GenerateEvent) => {
          order.push(name)
          if (event.kind === 'text') texts.push(event.text)
        }
        const request = { ...HELLO, maxTokens: 12 }
        return runner.start(request, emit, runSignal()).then(() => texts.join(''))
      }

      const texts = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(start))

      expect(new Set(texts)).to.deep.equal(new Set([solo.text]))
      expect(order.slice(0, 8).toSorted().join('')).to.equal('aabbccdd')
      expect(order.lastIndexOf('d')).to.be.lessThan(order.indexOf('f'))
    })
  })

  it('frees the place of a waiting generation that is aborted', async () => {
    await withRunner({ spec: { eosIds: [] } }, async (runner) => {
      const controller = new AbortController()
      const long = { ...HELLO, maxTokens: 60 }
      const running = [1, 2, 3, 4].map(() => runner.start(long, () => undefined, runSignal()))
      const waiting = runner
        .start(HELLO, () => undefined, controller.signal)
        .catch((caught: unknown) => caught)
      controller.abort(new Error('gone'))

      expect(await waiting).to.have.property('message', 'gone')
      await Promise.all(running)
      expect((await generate(runner)).end.completionTokens).to.equal(4)
    })
  })

  it('repeats its answer for the same seed, and is greedy with a top-k of 1', async () => {
    const flat = { temperature: 1000, topK: 0 }
    await withRunner({ spec: { eosIds: [] } }, async (runner) => {
      const run = async (seed: number, sampling: GenerateRequest['sampling']) =>
        (await generate(runner, { seed, sampling, maxTokens: 20 })).text

      expect(await run(7, flat)).to.equal(await run(7, flat))
      expect(await run(7, flat)).to.not.equal(await run(8, flat))
      expect(await run(7, { temperature: 1000, topK: 1 })).to.equal(
        await run(1, { temperature: 0 }),
      )
    })
  })

  it('takes settings that a request leaves out from the model', async () => {
    const sampling = { ...TINY_SPEC.sampling, temperature: 0 }
    await withRunner({ spec: { sampling } }, async (runner) => {
      const { text } = await generate(runner, { sampling: {} })

      expect(text).to.equal(textOf([6, 12, 6, 12]))
    })
  })

  it('joins messages where the model has no template', async () => {
    await withRunner({ spec: { chatTemplate: undefined } }, async (runner) => {
      const { end } = await generate(runner, {
        messages: [
          { role: 'user', content: 'hello' },
          { role: 'user', content: 'world' },
        ],
      })
      expect(end.promptTokens).to.equal(2)
    })
  })

  it('answers calls of tools as events, forced by the beginning of the answer', async () => {
    // The graph counts on: 'a' (a byte) is followed by sums of ids, so the call is in the beginning.
    const tokenizer = byteLevelTokenizer(['<tool_call>', '</tool_call>'])
    const spec = {
      toolCallFormat: 'hermes' as const,
      chatTemplate: '{{ messages[0].content }}',
      eosIds: [],
    }
    await withRunner({ spec, tokenizer }, async (runner) => {
      const tools = [{ name: 'now', description: undefined, parameters: undefined }]
      const { text } = await generate(runner, {
        tools,
        toolChoice: { kind: 'function', name: 'now' },
        maxTokens: 3,
      })

      expect(text.startsWith('<tool_call>\n{"name": "now", "arguments": ')).to.equal(true)
      expect(await refusal(runner, { tools })).to.equal('generated')
      expect(
        await refusal(runner, { tools, toolChoice: { kind: 'function', name: 'then' } }),
      ).to.include('do not have the function then')
      expect(await refusal(runner, { toolChoice: { kind: 'required' } })).to.include('any tool')
    })
    await withRunner({}, async (runner) => {
      const tools = [{ name: 'now', description: undefined, parameters: undefined }]
      expect(await refusal(runner, { tools })).to.include(
        'does not support tool calling; leave them out',
      )
      expect(await refusal(runner, { tools, toolChoice: { kind: 'none' } })).to.equal('generated')
    })
  })
})

async function refusal(runner: Runner, request: Partial<GenerateRequest>): Promise<string> {
  try {
    await generate(runner, request)
  } catch (error) {
    if (isServiceError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'generated'
}
