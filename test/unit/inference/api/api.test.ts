import { expect } from 'chai'
import { parseChat } from '../../../../inference/api/chat-request.ts'
import { parseKeepAlive } from '../../../../inference/api/keep-alive.ts'
import {
  vectorBytes,
  vectorBytesLength,
  vectorJsonPieces,
} from '../../../../inference/api/vector-codec.ts'
import { parseInferenceConfig } from '../../../../inference/config.ts'
import { normalized, pool } from '../../../../inference/pipelines/embed/pooling.ts'
import type { Pooling } from '../../../../inference/models/model-spec.ts'
import { seededRandom } from '../../../../lib/random.ts'

const NOW_MS = 1_700_000_000_000
const CHANCE = { nowMs: NOW_MS, random: () => 0.5 }

describe('keep_alive', () => {
  const good: readonly [string | number, number][] = [
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1.5s', 1_500],
    ['0', 0],
    [0, 0],
    [90, 90_000],
    [-1, Infinity],
    ['-1m', Infinity],
  ]
  for (const [text, expected] of good) {
    it(`reads ${JSON.stringify(text)}`, () => {
      expect(parseKeepAlive(text)).to.equal(expected)
    })
  }

  for (const text of ['soon', '5m5', '', 'm']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parseKeepAlive(text)).to.throw('keep_alive')
    })
  }
})

describe('vectors on the wire', () => {
  it('are eight zero bytes for an empty list', () => {
    const bytes = Buffer.concat([...vectorBytes([], 384)])

    expect(bytes.toString('hex')).to.equal('0000000000000000')
    expect(vectorBytesLength(0, 384)).to.equal(bytes.length)
  })

  it('have the announced length', () => {
    const bytes = Buffer.concat([...vectorBytes([Float32Array.of(1, 2), Float32Array.of(3, 4)], 2)])

    expect(bytes.readFloatLE(16 + 8)).to.equal(3)
    expect(vectorBytesLength(2, 2)).to.equal(bytes.length)
  })

  it('are printed in decimals that parse to the same 32-bit floats', () => {
    const random = seededRandom(7)
    const vector = Float32Array.from(
      { length: 20_000 },
      () => (random() - 0.5) * 10 ** (random() * 8 - 6),
    )

    const read: number[] = JSON.parse([...vectorJsonPieces(vector)].join(''))

    expect(read.every((value, i) => Math.fround(value) === vector[i])).to.equal(true)
  })
})

describe('pooling', () => {
  // Two tokens of one's own behind one of padding: [9 9] | [1 4] [3 -2].
  const row = { states: Float32Array.of(9, 9, 1, 4, 3, -2), size: 2, first: 1, count: 2 }
  const expected: Record<Pooling, number[]> = {
    mean: [2, 1],
    cls: [1, 4],
    max: [3, 4],
    'last-token': [3, -2],
  }
  for (const pooling of ['mean', 'cls', 'max', 'last-token'] as const) {
    it(`computes the ${pooling} of a row's own tokens`, () => {
      expect([...pool(row, pooling)]).to.deep.equal(expected[pooling])
    })
  }

  it('keeps zeros, and refuses values that are not numbers', () => {
    expect([...(normalized(Float32Array.of(0, 0)) ?? [])]).to.deep.equal([0, 0])
    expect(normalized(Float32Array.of(NaN, 1))).to.equal(undefined)
    expect(normalized(Float32Array.of(Infinity, 1))).to.equal(undefined)
  })
})

describe('a chat request', () => {
  const user = { role: 'user', content: 'hi' }

  it('takes absent and null settings from the model, and a random seed', () => {
    const request = parseChat({ messages: [user], temperature: null, max_tokens: null }, CHANCE)

    expect(request.sampling).to.deep.equal({})
    expect(request).to.deep.include({ stop: [], tools: [], nowMs: NOW_MS })
    expect(request.seed).to.equal(2 ** 31)
  })

  it('keeps a temperature of 0', () => {
    expect(parseChat({ messages: [user], temperature: 0 }, CHANCE).sampling).to.deep.equal({
      temperature: 0,
    })
  })

  it('joins the parts of a content, and keeps tool calls with their ids', () => {
    const call = { id: 'c1', function: { name: 'tide', arguments: '{}' } }
    const { messages } = parseChat(
      {
        messages: [
          { role: 'developer', content: [{ text: 'a' }, { text: 'b' }] },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', content: 'high', tool_call_id: 'c1' },
        ],
      },
      CHANCE,
    )

    expect(messages).to.deep.equal([
      { role: 'system', content: 'ab' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'tide', arguments: '{}' }] },
      { role: 'tool', content: 'high', toolCallId: 'c1' },
    ])
  })

  it('refuses a tool choice that its tools do not allow', () => {
    const messages = [user]
    const named = { function: { name: 'none' } }
    expect(() => parseChat({ messages, tool_choice: named }, CHANCE)).to.throw('"none"')
    expect(() => parseChat({ messages, tool_choice: 'required' }, CHANCE)).to.throw('needs tools')
  })
})

describe('the configuration of the inference server', () => {
  it('has defaults', () => {
    expect(parseInferenceConfig({})).to.deep.include({
      port: 11_433,
      healthPort: 4201,
      modelsDir: './models',
      isolation: 'process',
      mediaHosts: [],
    })
  })

  it('prefers a flag to the environment', () => {
    const env = { QUARRY_MODELS_DIR: '/env', QUARRY_INFERENCE_PORT: '1' }

    const config = parseInferenceConfig(env, { modelsDir: '/flag', port: undefined })

    expect([config.modelsDir, config.port]).to.deep.equal(['/flag', 1])
  })

  it('lists all problems at once', () => {
    const env = { QUARRY_INFERENCE_PORT: 'x', QUARRY_INFERENCE_ISOLATION: 'y' }

    expect(() => parseInferenceConfig(env)).to.throw(/PORT[^]*ISOLATION/)
  })
})
