// Requests around the contract of the inference API, as fast-check generates and shrinks them: each is
// a request that is right, made wrong in a few places, or not at all.

import * as fc from 'fast-check'

export interface FuzzedRequest {
  readonly operationId: string
  readonly route: string
  readonly headers: Readonly<Record<string, string>>
  /** What is sent: mostly JSON. */
  readonly body: string
  /** The one top-level field that was made wrong, if it was one and nothing else was. */
  readonly field: string | undefined
}

type Path = readonly (string | number)[]

interface Mutation {
  readonly kind: 'replace' | 'remove' | 'add' | 'wrap'
  /** Which place, counted through all places modulo their number. */
  readonly at: number
  readonly key: string
  readonly value: unknown
}

interface Target {
  readonly operationId: string
  readonly route: string
  readonly body: object
}

const TOOL = {
  type: 'function',
  function: { name: 'tide', description: 'when?', parameters: { type: 'object', properties: {} } },
}
const CHAT = {
  model: 'chat',
  messages: [
    { role: 'system', content: 'hello' },
    { role: 'user', content: [{ type: 'text', text: 'world' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'tide', arguments: '{"a":1}' } }],
    },
    { role: 'tool', content: 'foo', tool_call_id: 'a' },
  ],
  max_tokens: 2,
  temperature: 0.5,
  top_p: 0.9,
  top_k: 3,
  seed: 7,
  stop: ['bar'],
  frequency_penalty: 0.1,
  tool_choice: 'auto',
}

const TARGETS: readonly Target[] = [
  {
    operationId: 'embed',
    route: '/api/embed',
    body: { model: 'tiny', input: ['hello', 'world'], truncate: true, dimensions: 3 },
  },
  {
    operationId: 'embed',
    route: '/api/embed',
    body: { model: 'builtin-hash', input: [{ type: 'text', text: 'hello' }], keep_alive: '5m' },
  },
  {
    operationId: 'createEmbeddings',
    route: '/v1/embeddings',
    body: { model: 'tiny', input: 'hello', encoding_format: 'base64', dimensions: 2 },
  },
  {
    operationId: 'chunk',
    route: '/api/chunk',
    body: {
      text: 'one two three. four five',
      config: { target_tokens: 2, overlap_tokens: 1, separator: ' ', max_chunks: 3 },
    },
  },
  {
    operationId: 'chunk',
    route: '/api/chunk',
    body: { text: 'hello. world. foo', config: { model: 'stops', threshold: 0.5 } },
  },
  {
    operationId: 'rerank',
    route: '/api/rerank',
    body: { model: 'cross', query: 'hello', prompts: ['world', 'foo'], raw_scores: true },
  },
  {
    operationId: 'recognize',
    route: '/api/recognize',
    body: { model: 'ner', texts: ['alice works at acme', 'paris'], labels: ['PER'] },
  },
  {
    operationId: 'recognize',
    route: '/api/recognize',
    body: { model: 'gliner', texts: ['hello world foo'], labels: ['a', 'b'] },
  },
  {
    operationId: 'rewrite',
    route: '/api/rewrite',
    body: { model: 'sums', inputs: ['hello world', 'foo'] },
  },
  {
    operationId: 'generate',
    route: '/api/generate',
    body: {
      model: 'chat',
      prompt: 'hello',
      system: 'foo',
      stream: false,
      options: { num_predict: 2, stop: ['bar'] },
    },
  },
  { operationId: 'generate', route: '/api/generate', body: CHAT },
  {
    operationId: 'generate',
    route: '/api/generate',
    body: { ...CHAT, model: 'tools', tools: [TOOL], stream_options: { include_usage: true } },
  },
  {
    operationId: 'createChatCompletion',
    route: '/v1/chat/completions',
    body: { ...CHAT, stream: true },
  },
]

/** Stands in the tree for JSON that no value of ours is written as. */
const RAW_MARK = '@raw '
const RAW_DEPTH = 20_000
const RAWS: readonly string[] = [
  '-0',
  '1e400',
  '-1e400',
  '5e-324',
  '9007199254740993',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '{"__proto__":{"a":1},"constructor":2}',
  '{"a":1,"a":2}',
  '['.repeat(RAW_DEPTH) + ']'.repeat(RAW_DEPTH),
  '{"a":'.repeat(RAW_DEPTH) + '1' + '}'.repeat(RAW_DEPTH),
]

const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', ' ', '\n\n', '\u0000', '\u202e', '\ufeff', 'constructor', '__proto__', '%00'),
  fc.constantFrom('[CLS]', '<<ENT>>', '<tool_call>', '<tool_call>{"name":', '\u{1f5fc}', 'e\u0301'),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => {
    return String.fromCharCode(...units)
  }),
  fc.nat({ max: 3000 }).map((length) => 'hello. '.repeat(length)),
)

const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 2, 7, 1e308, -1e308, 2 ** 53, 2 ** 31),
  anyText,
  { weight: 3, arbitrary: fc.constantFrom(...RAWS).map((raw) => RAW_MARK + raw) },
  fc.jsonValue(),
  fc.constantFrom<unknown>([], {}, [[]], [null], [{}], [''], ['', {}], { type: 'text' }),
  fc.nat({ max: 2100 }).map((length) => Array.from({ length }, (_, i) => `t${i}`)),
  fc.constantFrom('auto', 'none', 'required', 'fixed', 'float', 'tool', 'developer', '-1h', '3'),
  fc.constantFrom<unknown>({ type: 'function', function: { name: 'tide' } }, [TOOL, TOOL]),
  fc.constantFrom<unknown>(
    [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    [{ type: 'image_url', image_url: { url: 'http://127.0.0.1:1/' } }],
  ),
)

const KEYS = ['text', 'stream', 'model', 'options', '__proto__', 'constructor', '', 'logprobs']

const anyMutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'wrap'),
  at: fc.nat(),
  key: fc.constantFrom(...KEYS, 'tools', 'tool_choice', 'stop', 'seed', 'keep_alive', 'n'),
  value: anyValue,
})

const anyHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.record({
  accept: fc.constantFrom('application/json', '*/*', 'application/json;q=0', 'application/jso,;q='),
  'content-type': fc.constantFrom(
    ...Array.from({ length: 12 }, () => 'application/json'),
    'application/vnd.x+json; charset="UTF-8"',
    'text/plain',
  ),
})

/** Cuts the text or writes something into its middle, as no client means to. */
interface Damage {
  readonly at: number
  readonly written: string | undefined
}

const anyDamage: fc.Arbitrary<Damage | undefined> = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({
      at: fc.nat(),
      written: fc.constantFrom(undefined, '"', '\u0000', '}', ',', '['),
    }),
  },
)

export const fuzzedRequest: fc.Arbitrary<FuzzedRequest> = fc
  .record({
    target: fc.constantFrom(...TARGETS),
    mutations: fc.array(anyMutation, { maxLength: 4 }),
    headers: anyHeaders,
    damage: anyDamage,
  })
  .map(({ target, mutations, headers, damage }) => {
    const { operationId, route } = target
    const tree: unknown = structuredClone(target.body)
    const changed = mutations.map((mutation) => mutate(tree, mutation))
    const body = damaged(printed(tree), damage)
    const [only] = changed
    const isOne = changed.length === 1 && damage === undefined && only !== undefined
    return { operationId, route, headers, body, field: isOne ? String(only[0]) : undefined }
  })

/** Changes the tree in one place; answers which, if something was replaced by a wrong type. */
function mutate(tree: unknown, { kind, at, key, value: shared }: Mutation): Path | undefined {
  const value: unknown = structuredClone(shared) // a later mutation may change it in its place
  const places = placesIn(tree)
  const place = places[at % places.length]
  if (place === undefined) return undefined
  const parent = valueAt(tree, place.slice(0, -1))
  const last = place.at(-1) ?? ''
  if (Array.isArray(parent)) {
    if (kind === 'remove') parent.splice(Number(last), 1)
    else parent[Number(last)] = kind === 'wrap' ? [parent[Number(last)]] : value
  } else if (isObject(parent)) {
    const name = kind === 'add' ? key : String(last)
    if (kind === 'remove') Reflect.deleteProperty(parent, name)
    else define(parent, name, kind === 'wrap' ? [parent[name]] : value)
  }
  return kind === 'replace' ? place : undefined
}

/** As JSON.parse does, also where the name is one that objects inherit. */
function define(parent: object, name: string, value: unknown): void {
  Object.defineProperty(parent, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

function placesIn(tree: unknown, before: Path = []): Path[] {
  if (!Array.isArray(tree) && !isObject(tree)) return []
  return Object.entries(tree).flatMap(([key, value]) => {
    const place = [...before, Array.isArray(tree) ? Number(key) : key]
    return [place, ...placesIn(value, place)]
  })
}

function valueAt(tree: unknown, place: Path): unknown {
  return place.reduce((value, key) => (isObject(value) ? value[String(key)] : undefined), tree)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function printed(tree: unknown): string {
  return JSON.stringify(tree).replaceAll(
    new RegExp(`"${RAW_MARK}(?<at>(?:[^"\\\\]|\\\\.)*)"`, 'g'),
    (quoted) => {
      const text: string = JSON.parse(quoted)
      return text.slice(RAW_MARK.length)
    },
  )
}

function damaged(text: string, damage: Damage | undefined): string {
  if (damage === undefined) return text
  const at = damage.at % (text.length + 1)
  const { written } = damage
  return written === undefined ? text.slice(0, at) : text.slice(0, at) + written + text.slice(at)
}
