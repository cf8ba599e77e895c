import { expect } from 'chai'
import * as fc from 'fast-check'
import { ChatTemplate } from '../../../../../inference/pipelines/generate/chat-template.ts'
import {
  buildCandidates,
  sampleToken,
} from '../../../../../inference/pipelines/generate/sampler.ts'
import type { TokenHistory } from '../../../../../inference/pipelines/generate/sampler.ts'
import { StopFilter } from '../../../../../inference/pipelines/generate/stop-filter.ts'
import { formatDate } from '../../../../../inference/pipelines/generate/template-date.ts'
import {
  TOOL_CALL_SYNTAX,
  detectToolCallFormat,
} from '../../../../../inference/pipelines/generate/tool-call-format.ts'
import { ToolCallParser } from '../../../../../inference/pipelines/generate/tool-call-parser.ts'
import type { ParsedPart } from '../../../../../inference/pipelines/generate/tool-call-parser.ts'
import { largestIndexes } from '../../../../../inference/pipelines/largest-indexes.ts'
import { TOOL_CALL_FORMATS } from '../../../../../inference/models/model-spec.ts'
import type { ToolCallFormat } from '../../../../../inference/models/model-spec.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { seededRandom } from '../../../../../lib/random.ts'

describe('sampler', () => {
  const logits = Float32Array.of(2, 1, 0)
  const penalties = { repetitionPenalty: 1, frequencyPenalty: 0, presencePenalty: 0 }
  const plain = { temperature: 1, topK: 0, topP: 1, ...penalties }
  const none: TokenHistory = new Map()

  const tables: Record<string, [Partial<typeof plain>, number[]]> = {
    softmax: [{}, [0.66524096, 0.24472847, 0.09003057]],
    'a temperature of 0.5': [{ temperature: 0.5 }, [0.86681333, 0.11731043, 0.01587624]],
    'a top-p of 0.9': [{ topP: 0.9 }, [0.73105858, 0.26894142]],
    'a top-k of 2': [{ topK: 2 }, [0.73105858, 0.26894142]],
    'a top-k of 1': [{ topK: 1 }, [1]],
    'a temperature of 0': [{ temperature: 0 }, [1]],
    'a top-p of 0': [{ topP: 0 }, [1]],
  }
  for (const [name, [settings, expected]] of Object.entries(tables)) {
    it(`draws by ${name}`, () => {
      const { probabilities } = buildCandidates(logits, { ...plain, ...settings }, none)

      expect(probabilities).to.have.length(expected.length)
      for (const [index, probability] of expected.entries()) {
        expect(probabilities[index]).to.be.closeTo(probability, 1e-7)
      }
    })
  }

  it('makes repeated tokens less likely', () => {
    const { ids, probabilities } = buildCandidates(
      logits,
      { ...plain, repetitionPenalty: 2 },
      new Map([[0, 0]]),
    )
    // The logits are 1, 1, 0 then.
    expect(ids).to.deep.equal([0, 1, 2])
    expect(probabilities[0]).to.equal(probabilities[1])
    const negative = buildCandidates(
      Float32Array.of(-1, -1.5),
      { ...plain, repetitionPenalty: 2 },
      new Map([[0, 0]]),
    )
    expect(negative.ids).to.deep.equal([1, 0])
  })

  it('applies penalties to tokens of the answer, by count and by presence', () => {
    const history = new Map([
      [0, 2],
      [1, 0],
    ])
    const firstTwo = (settings: Partial<typeof plain>): number => {
      const { ids, probabilities } = buildCandidates(logits, { ...plain, ...settings }, history)
      const of = (id: number): number => probabilities[ids.indexOf(id)]!
      return Math.log(of(0) / of(1)) // the difference of their logits, 1 without penalties
    }

    expect(firstTwo({ frequencyPenalty: 0.25 })).to.be.closeTo(1 - 2 * 0.25, 1e-6)
    expect(firstTwo({ presencePenalty: 0.25 })).to.be.closeTo(1 - 0.25, 1e-6)
    expect(firstTwo({ presencePenalty: -1, frequencyPenalty: -0.5 })).to.be.closeTo(3, 1e-6)
  })

  it('prefers the lowest id among equals, and never draws NaN', () => {
    const equal = Float32Array.of(Number.NaN, 3, 3, -Infinity)

    expect(buildCandidates(equal, { ...plain, temperature: 0 }, none).ids).to.deep.equal([1])
    expect(buildCandidates(equal, plain, none).ids).to.deep.equal([1, 2])
    expect(() => buildCandidates(Float32Array.of(Number.NaN), plain, none))
      .to.throw()
      .with.property('code', 'INFERENCE_FAILED')
  })

  it('draws as often as the probabilities say', () => {
    const random = seededRandom(5)
    const counts = [0, 0, 0]
    for (let round = 0; round < 20_000; round += 1) {
      counts[sampleToken(logits, plain, { history: none, random })]! += 1
    }
    expect(counts[0]! / 20_000).to.be.closeTo(0.665, 0.015)
    expect(counts[2]! / 20_000).to.be.closeTo(0.09, 0.01)
  })

  it('selects the largest values as sorting does', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        (values, count) => {
          const sorted = Array.from(values.keys())
            .toSorted((left, right) => values[right]! - values[left]! || left - right)
            .slice(0, count)
          expect(largestIndexes(Float32Array.from(values), count)).to.deep.equal(sorted)
        },
      ),
    )
  })
})

function filtered(pieces: readonly string[], stops: readonly string[]): string {
  const filter = new StopFilter(stops)
  return pieces.map((piece) => filter.push(piece)).join('') + filter.end()
}

describe('stop filter', () => {
  it('ends a text before the stop string that is complete first, however it is cut', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 })
    fc.assert(
      fc.property(
        fc.array(letters, { maxLength: 6 }),
        fc.array(letters, { maxLength: 3 }),
        (pieces, stops) => {
          const text = pieces.join('')
          const given = stops.filter((stop) => stop !== '')
          const isStopped = given.some((stop) => text.includes(stop))
          const answer = filtered(pieces, stops)

          expect(answer).to.equal(filtered([text], stops))
          expect(given.some((stop) => answer.includes(stop))).to.equal(false)
          expect(answer === text).to.equal(!isStopped)
          const rest = text.slice(answer.length)
          expect(given.some((stop) => rest.startsWith(stop))).to.equal(isStopped)
        },
      ),
    )
  })

  it('prefers a stop string that ends first to one that begins first', () => {
    expect(filtered(['abc'], ['abc', 'b'])).to.equal('a')
    expect(filtered(['abc'], ['ab', 'b'])).to.equal('')
  })

  it('holds back only text that may become a stop string', () => {
    const filter = new StopFilter(['END'])

    expect([filter.push('the E'), filter.push('N'), filter.push('T'), filter.end()]).to.deep.equal([
      'the ',
      '',
      'ENT',
      '',
    ])
  })
})

function parse(format: ToolCallFormat, pieces: readonly string[]): ParsedPart[] {
  const parser = new ToolCallParser(TOOL_CALL_SYNTAX[format])
  const parts = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
  const joined: ParsedPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.kind === 'text' && last?.kind === 'text') {
      joined[joined.length - 1] = { kind: 'text', text: last.text + part.text }
    } else joined.push(part)
  }
  return joined
}

describe('tool calls', () => {
  const paris = { name: 'weather', arguments: '{"city":"Paris","days":3}' }
  const json = '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}'
  const cases: Record<ToolCallFormat, { called: string; broken: readonly string[] }> = {
    hermes: {
      called: `So: <tool_call>\n${json}\n</tool_call>`,
      broken: ['<tool_call>{"name": </tool_call>', 'a < b <tool', '<tool_call>[]</tool_call>'],
    },
    mistral: {
      called: `So: [TOOL_CALLS] [${json}]`,
      broken: ['[TOOL_CALLS] none ]', '[TOOL_CALLS][{"name"', '[TOOL_CALLS][{"a": "]"}] x'],
    },
    'mistral-args': {
      called: 'So: [TOOL_CALLS]weather[ARGS]{"city": "Paris", "days": 3}',
      broken: [
        '[TOOL_CALLS]weather[ARGS]{"city": }',
        '[TOOL_CALLS]weather[ARGS]{"city": "Paris"',
        '[TOOL_CALLS]weather[ARGS]["Paris"]',
        '[TOOL_CALLS]weather[ARGS] "Paris" {}',
        '[TOOL_CALLS]weather [ARGS]{}',
        '[TOOL_CALLS]weather[ARGUMENTS]{}',
        '[TOOL_CALLS]weather[CALL_ID]a b[ARGS]{}',
        '[TOOL_CALLS]weather[CALL_ID]a[CALL_ID]b[ARGS]{}',
        '[TOOL_CALLS][ARGS]{}',
        '[TOOL_CALLS]weather',
        '[TOOL_CALLS]',
        `[TOOL_CALLS]${'x'.repeat(129)}[ARGS]{}`,
      ],
    },
    'llama3-json': {
      called: '<|python_tag|>{"name": "weather", "parameters": {"city": "Paris", "days": 3}}',
      broken: [
        '{"city": "Paris"}',
        'text {"name": "x", "parameters": {}}',
        ' <|python',
        '<|python_tag|>x',
      ],
    },
    functiongemma: {
      called:
        'So: <start_function_call>call:weather{city:<escape>Paris<escape>,days:3}<end_function_call>',
      broken: [
        '<start_function_call>weather{}<end_function_call>',
        '<start_function_call>call:weather{city:<escape>Paris}<end_function_call>',
      ],
    },
  }

  for (const format of TOOL_CALL_FORMATS) {
    const { called, broken } = cases[format]

    it(`finds a call and the text before it as ${format} writes them`, () => {
      const before = called.startsWith('So: ') ? [{ kind: 'text', text: 'So: ' }] : []
      expect(parse(format, [called])).to.deep.equal([...before, { kind: 'call', call: paris }])
    })

    it(`gives back broken calls of ${format} as text`, () => {
      for (const text of broken) {
        expect(parse(format, [text])).to.deep.equal([{ kind: 'text', text }])
      }
    })

    it(`does not depend on how a text of ${format} is cut`, () => {
      for (const text of [called, `${called} after`, called + called, ...broken]) {
        const whole = parse(format, [text])
        for (let at = 1; at < text.length; at += 1) {
          expect(parse(format, [text.slice(0, at), text.slice(at)])).to.deep.equal(whole)
        }
        expect(parse(format, Array.from(text))).to.deep.equal(whole)
      }
    })

    it(`continues a forced beginning of ${format} to a call`, () => {
      const beginning = TOOL_CALL_SYNTAX[format].beginning('weather')
      const ends: Record<ToolCallFormat, string> = {
        hermes: '{"city": "Paris", "days": 3}}</tool_call>',
        mistral: '{"city": "Paris", "days": 3}}]',
        'mistral-args': '{"city": "Paris", "days": 3}',
        'llama3-json': '{"city": "Paris", "days": 3}}',
        functiongemma: 'city:<escape>Paris<escape>,days:3}<end_function_call>',
      }
      expect(parse(format, [beginning, ends[format]])).to.deep.equal([
        { kind: 'call', call: paris },
      ])
    })
  }

  it('keeps the text behind a call', () => {
    const text = `a<tool_call>${json}</tool_call>b<tool_call>${json}</tool_call>c`
    expect(
      parse('hermes', [text]).map((part) => (part.kind === 'text' ? part.text : '!')),
    ).to.deep.equal(['a', '!', 'b', '!', 'c'])
  })

  it('reads several calls, nested values and arguments that are text', () => {
    expect(
      parse('mistral', ['[TOOL_CALLS][{"name":"a"},{"name":"b","arguments":"{}"}]']),
    ).to.deep.equal([
      { kind: 'call', call: { name: 'a', arguments: '{}' } },
      { kind: 'call', call: { name: 'b', arguments: '{}' } },
    ])
    expect(
      parse('llama3-json', ['{"name":"a","parameters":{}}; {"name":"b","parameters":{}}']),
    ).to.have.length(2)
    const nested =
      '<start_function_call>call:f{a:{b:[1,<escape>x,}<escape>,true]},c:<escape>[1]<escape>,d:plain}<end_function_call>'
    expect(parse('functiongemma', [nested])).to.deep.equal([
      {
        kind: 'call',
        call: { name: 'f', arguments: '{"a":{"b":[1,"x,}",true]},"c":[1],"d":"plain"}' },
      },
    ])
  })

  it('reads several calls of the newer Mistral form, with ids and text around them', () => {
    const text =
      'a [TOOL_CALLS]f[ARGS]{"x": "[TOOL_CALLS]}"}\n[TOOL_CALLS]my.tool-2[CALL_ID]a1B2[ARGS] {}b' +
      '[TOOL_CALLS]f[ARGS]{"x": {"y": []}} c'
    const parts = [
      { kind: 'text', text: 'a ' },
      { kind: 'call', call: { name: 'f', arguments: '{"x":"[TOOL_CALLS]}"}' } },
      { kind: 'text', text: '\n' },
      { kind: 'call', call: { name: 'my.tool-2', arguments: '{}' } },
      { kind: 'text', text: 'b' },
      { kind: 'call', call: { name: 'f', arguments: '{"x":{"y":[]}}' } },
      { kind: 'text', text: ' c' },
    ]

    for (let at = 0; at < text.length; at += 1) {
      const pieces = [text.slice(0, at), text.slice(at)]
      expect(parse('mistral-args', pieces)).to.deep.equal(parts)
    }
  })

  it('finds the call behind text that only began like one', () => {
    const call = { kind: 'call', call: { name: 'f', arguments: '{}' } }
    const text = '[TOOL_CALLS]no call [TOOL_CALLS]f[ARGS]{}'

    expect(parse('mistral-args', Array.from(text))).to.deep.equal([
      { kind: 'text', text: '[TOOL_CALLS]no call ' },
      call,
    ])
  })

  it('reads both forms of Mistral, whichever the template names', () => {
    const call = { kind: 'call', call: { name: 'f', arguments: '{}' } }

    for (const format of ['mistral', 'mistral-args'] as const) {
      for (const body of ['[{"name":"f","arguments":{}}]', 'f[ARGS]{}']) {
        expect(parse(format, [`[TOOL_CALLS]${body}`])).to.deep.equal([call])
      }
    }
  })

  it('accepts a call at the end whose end mark is missing', () => {
    expect(parse('hermes', [`<tool_call>${json}`])).to.deep.equal([{ kind: 'call', call: paris }])
  })

  it('tells the format from the chat template', () => {
    expect(detectToolCallFormat('... <tool_call> ...')).to.equal('hermes')
    expect(detectToolCallFormat('... [TOOL_CALLS] ...')).to.equal('mistral')
    expect(detectToolCallFormat('... [TOOL_CALLS] + name + [ARGS]')).to.equal('mistral-args')
    expect(detectToolCallFormat('... <start_function_call> ...')).to.equal('functiongemma')
    expect(detectToolCallFormat('... <|python_tag|> ...')).to.equal('llama3-json')
    expect(detectToolCallFormat('plain')).to.equal(undefined)
  })
})

function render(source: string, variables = {}): string {
  return new ChatTemplate(source).render(variables, 0)
}

function refusalOf(source: string): string {
  try {
    render(source)
  } catch (error) {
    if (isServiceError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'rendered'
}

describe('chat template', () => {
  it('renders messages, tools and the date', () => {
    const source =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ tools | tojson }} {{ strftime_now('%d %b %Y') }}"
    const variables = { messages: [{ role: 'user', content: 'hi' }], tools: [{ a: 1 }] }

    expect(render(source, variables)).to.equal('<user>hi[{"a": 1}] 01 Jan 1970')
  })

  it('lets a template refuse a conversation, with its reason', () => {
    expect(refusalOf("{{ raise_exception('roles must alternate') }}")).to.equal(
      'INVALID_ARGUMENT: messages: the chat template refuses them: roles must alternate',
    )
  })

  it('refuses a template that cannot be read', () => {
    expect(refusalOf('{% for %}')).to.match(/^INVALID_ARGUMENT: the chat template cannot be read/)
    expect(refusalOf('x'.repeat(1_048_577))).to.include('more than')
  })

  it('bounds the time and the size of hostile templates', () => {
    const loop = '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}'
    const doubling =
      "{% set n = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(22) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}"

    expect(refusalOf(loop)).to.match(/^DEADLINE_EXCEEDED/)
    expect(refusalOf('{{ range(999999999) | length }}')).to.include('longer than')
    expect(refusalOf(doubling)).to.include('the prompt has more than')
  })

  it('writes dates as strftime does', () => {
    const at = Date.UTC(2026, 1, 3, 4, 5, 6)
    expect(formatDate(at, '%A %a %B %b %d %m %Y %y %H:%M:%S %% %q')).to.equal(
      'Tuesday Tue February Feb 03 02 2026 26 04:05:06 % %q',
    )
  })
})
