import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { parseExact } from '../../../../node/document/exact-json.ts'
import type { JsonValue } from '../../../../node/document/exact-json.ts'
import { compileTemplate, TEMPLATE_LENGTH_MAX } from '../../../../node/template/compile-template.ts'
import { RENDER_LIMITS_DEFAULT } from '../../../../node/template/render-budget.ts'
import type { RenderLimits } from '../../../../node/template/render-budget.ts'
import { renderTemplate } from '../../../../node/template/render-template.ts'
import type { TemplateOutput } from '../../../../node/template/render-template.ts'
import { TemplateCache } from '../../../../node/template/template-cache.ts'
import { errorOf } from '../../../support/error-of.ts'
import { longestStepAtBestMs } from '../../../support/slices/step-time.ts'

/** A step takes about a millisecond; on a busy machine it may take twice the time of the processor. */
const STEP_MS_MAX = 9

function partsOf(
  source: string,
  context: JsonValue = {},
  limits: Partial<RenderLimits> = {},
): TemplateOutput {
  const template = runAtOnce(compileTemplate(source))
  return runAtOnce(renderTemplate(template, context, { ...RENDER_LIMITS_DEFAULT, ...limits }))
}

function textOf(source: string, context: JsonValue = {}, limits?: Partial<RenderLimits>): string {
  return partsOf(source, context, limits)
    .map((part) => (part.kind === 'text' ? part.text : `<${part.url}>`))
    .join('')
}

describe('a template', () => {
  const book = {
    title: 'Emma & Co',
    year: 1815,
    tags: ['a', 'b'],
    author: { name: 'Jane' },
    empty: [],
    nulls: [null],
  }
  const cases: Readonly<Record<string, readonly [source: string, text: string]>> = {
    'a field, without escapes of HTML': [
      '{{title}} {{{title}}} {{&title}}',
      'Emma & Co Emma & Co Emma & Co',
    ],
    'a field of a field': [
      '{{author.name}} {{author/name}} {{this.author.[name]}}',
      'Jane Jane Jane',
    ],
    'an element of a list': ['{{tags.[1]}} {{tags.0}} {{this.tags.1}} {{tags.length}}', 'b a b 2'],
    'a list with commas, and an object as JSON': ['{{tags}} {{author}}', 'a,b {"name":"Jane"}'],
    'nothing for what is not there': ['[{{none}}{{none.deeper}}{{author.none}}]', '[]'],
    'a field with the name of a literal or a helper': ['{{"title"}} {{this.eq}}', 'Emma & Co '],
    conditions: [
      '{{#if year}}y{{/if}}{{#if empty}}e{{else if tags}}t{{else}}n{{/if}}{{#unless none}}u{{/unless}}',
      'ytu',
    ],
    'a loop with its variables': [
      '{{#each tags}}{{@index}}{{@key}}{{this}}{{#unless @last}};{{/unless}}{{/each}}',
      '00a;11b',
    ],
    'a loop over an object': [
      '{{#each author}}{{@key}}={{this}}{{@first}}{{/each}}',
      'name=Janetrue',
    ],
    'a null of a list as false, within a block too': [
      '{{#each nulls}}{{#if "title"}}{{#if this}}true{{else}}false{{/if}}{{/if}}{{/each}}',
      'false',
    ],
    'a loop over nothing': ['{{#each empty}}x{{else}}none{{/each}}', 'none'],
    'the contexts around': [
      '{{#each tags}}{{../title}}{{@root.year}}{{/each}}',
      'Emma & Co1815Emma & Co1815',
    ],
    'a loop around': [
      '{{#each tags}}{{#each ../tags}}{{@../index}}{{@index}} {{/each}}{{/each}}',
      '00 01 10 11 ',
    ],
    with: ['{{#with author}}{{name}}{{else}}x{{/with}}', 'Jane'],
    'a section': ['{{#author}}{{name}}{{/author}}{{^none}}!{{/none}}', 'Jane!'],
    'eq within a condition, and as one': [
      '{{#if (eq year 1815)}}a{{/if}}{{#eq author.name "Jane"}}b{{else}}c{{/eq}}',
      'ab',
    ],
    'eq of values by type and content': [
      '{{eq year "1815"}} {{eq tags tags}} {{eq none null}}',
      'false true true',
    ],
    lookup: ['{{#each tags}}{{lookup ../tags @index}}{{/each}}{{lookup author "name"}}', 'abJane'],
    scrubHtml: ['{{scrubHtml "<p>a &amp; b</p><script>x</script>c"}}', 'a & b\nc'],
    encodeToon: ['{{encodeToon this.tags}}', '[#2]: a,b'],
    'comments and white space': [' {{! c }}\n{{!-- {{d}} --}}x {{~title~}} y', 'xEmma & Coy'],
    'escaped tags': ['\\{{title}} \\\\{{year}}', '{{title}} \\1815'],
  }
  for (const [what, [source, text]] of Object.entries(cases)) {
    it(`writes ${what}`, () => {
      expect(textOf(source, book)).to.equal(text)
    })
  }

  it('keeps the digits of numbers that no double carries', () => {
    const context = parseExact('{"id": 12345678901234567890}')

    expect(textOf('{{id}} {{eq id id}} {{encodeToon this}}', context)).to.equal(
      '12345678901234567890 true id: 12345678901234567890',
    )
  })

  it('takes numbers that no double carries for true, unless they are zero', () => {
    const context = parseExact(
      '{"a": 0.00000000000000000001, "b": 0.00000000000000000000, "c": 1e400}',
    )

    expect(textOf('{{#if a}}a{{/if}}{{#if b}}b{{/if}}{{#if c}}c{{/if}}', context)).to.equal('ac')
  })

  it('makes texts and media in their order', () => {
    const context = { photo: 'https://example.org/a.png', paper: 'file:///a.pdf', none: null }
    const source =
      'A {{media photo}}B{{remoteMedia url=photo}}{{remotePDF url=paper}}{{remoteText url=paper}}{{media none}}'

    expect(partsOf(source, context)).to.deep.equal([
      { kind: 'text', text: 'A ' },
      { kind: 'media', url: context.photo, expects: 'any' },
      { kind: 'text', text: 'B' },
      { kind: 'media', url: context.photo, expects: 'any' },
      { kind: 'media', url: context.paper, expects: 'pdf' },
      { kind: 'media', url: context.paper, expects: 'text' },
    ])
  })

  it('takes a search text as its document', () => {
    expect(partsOf('{{remoteMedia url=this}}', 'https://example.org/a.png')).to.deep.equal([
      { kind: 'media', url: 'https://example.org/a.png', expects: 'any' },
    ])
  })
})

describe('a template that does not compile', () => {
  const cases: Readonly<Record<string, readonly [source: string, message: string]>> = {
    'a tag without end': [
      'a\n  {{b',
      'line 2, column 5: "b" cannot stand here, or the end of this tag is missing',
    ],
    'an empty tag': ['{{}}', 'line 1, column 3: }} has no place here: something is missing'],
    'a comment without end': ['{{!-- a }}', 'column 1: this comment has no end: --}} is missing'],
    'a text without end': [
      '{{a "b}}',
      'column 5: "\\"" cannot stand here, or the end of this tag is missing',
    ],
    'one brace too many': ['{{a}}}', 'column 4: "}}}" has no place here'],
    'a block that is not closed': [
      '{{#if a}}{{#each b}}{{/each}}',
      'column 1: this block is not closed',
    ],
    'a block that is closed by another name': [
      '{{#if a}}{{/each}}',
      "column 4: if doesn't match each",
    ],
    'an end without a beginning': ['{{/if}}', 'column 1: this closes no block'],
    'an else without a block': [
      '{{else}}',
      'column 1: {{else}} has no place here: it stands in no block',
    ],
    'a second else': [
      '{{#if a}}{{else}}{{else}}{{/if}}',
      'column 18: {{else}} has no place here: it stands in no block, or in one that has',
    ],
    'an unknown helper': ['{{shout a}}', 'column 3: shout is not a helper; there are if, unless'],
    'an unknown helper within': ['{{#if (shout a)}}{{/if}}', 'column 8: shout is not a helper'],
    'a parenthesis that is not closed': [
      '{{eq (eq a b c}}',
      'column 15: }} has no place here: something is missing',
    ],
    'too few arguments': ['{{eq a}}', 'column 3: eq takes 2 arguments, not 1'],
    'a field that is named as a helper': [
      '{{media}}',
      'media takes 1 argument, not 0; for a field of this name write this.media',
    ],
    'too many arguments': ['{{#each a b}}{{/each}}', 'each takes 1 argument, not 2'],
    'an unknown option': [
      '{{encodeToon a indnt=3}}',
      'encodeToon has no option indnt; it has lengthMarker, indent, delimiter',
    ],
    'an argument behind named ones': [
      '{{encodeToon indent=3 a}}',
      'column 24: }} has no place here: something is missing',
    ],
    'a helper of blocks in a tag': ['{{if a}}', 'if begins a block: write {{#if …}}…{{/if}}'],
    'a medium within a call': [
      '{{#if (media a)}}{{/if}}',
      'media writes a medium and has no value',
    ],
    'a medium as a block': ['{{#media a}}{{/media}}', 'media does not begin a block'],
    'an unknown variable': [
      '{{@idx}}',
      '@idx is not known; there are @root, @index, @key, @first, @last',
    ],
    'a path that goes up in its middle': ['{{a/../b}}', 'column 3: Invalid path: a/..'],
    'a path without an end': ['{{a/}}', 'column 5: }} has no place here: something is missing'],
    'a partial': ['{{> a}}', 'partials ({{> …}}) are not supported'],
    'a block partial': ['{{#> a}}{{/a}}', 'partials ({{#> …}}) are not supported'],
    'a decorator': ['{{* a}}', 'decorators ({{* …}} and {{#* …}}) are not supported'],
    'a decorator block': [
      '{{#* inline "a"}}{{/inline}}',
      'decorators ({{* …}} and {{#* …}}) are not supported',
    ],
    'a raw block': ['{{{{a}}}}b{{{{/a}}}}', 'raw blocks ({{{{…}}}}) are not supported'],
    'block parameters': [
      '{{#each a as |b|}}{{/each}}',
      'block parameters (as |name|) are not supported',
    ],
    'too deep blocks': ['{{#if a}}'.repeat(65), 'nest deeper than 64'],
    'too deep calls': [
      `{{eq a ${'(eq a '.repeat(40)}b${')'.repeat(40)}}}`,
      'calls nest deeper than 32',
    ],
    'too many words': [
      `{{eq ${'a '.repeat(4000)}}}`,
      'it has more than 3000 words and signs in tags',
    ],
    'too many words in nested blocks': [
      `${'{{#if a}}'.repeat(60)}${'{{a}}'.repeat(300)}${'{{/if}}'.repeat(60)}`,
      'it has more than 3000 words and signs in tags; those in blocks and calls',
    ],
    'too many comments for the length of the text': [
      '{{!--abcdefghijkl--}}'.repeat(400) + 'a'.repeat(50_000),
      'names in brackets and comments count for more',
    ],
    'too many names in brackets for the length of the text': [
      '{{[a]}}'.repeat(400) + 'a'.repeat(50_000),
      'names in brackets and comments count for more',
    ],
    'a character that no template has': ['a\n{{b}}\0', 'line 2, column 6: the character NUL'],
    'a call in the place of a name': ['{{(eq a b) c}}', 'column 3: this is not a helper'],
    'options without a helper': ['{{a=1}}', 'column 1: this is not a helper'],
    'a place behind numbers without brackets': [
      'a\n{{list.0}}{{list.10}}{{shout a}}',
      'line 2, column 24: shout is not a helper',
    ],
    'too much text': [
      'a'.repeat(TEMPLATE_LENGTH_MAX + 1),
      'it has 65537 characters; the maximum is 65536',
    ],
  }
  for (const [what, [source, message]] of Object.entries(cases)) {
    it(`names its place and the reason: ${what}`, async () => {
      const error = await errorOf(() => runAtOnce(compileTemplate(source)))

      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error).to.have.property('message').that.includes(message)
      expect(error)
        .to.have.property('message')
        .that.matches(/^template: /)
    })
  }
})

describe('prototypes', () => {
  const attacks = [
    '{{constructor}}',
    '{{constructor.constructor}}',
    '{{__proto__}}',
    '{{__proto__.polluted}}',
    '{{a.constructor.name}}',
    '{{a.__defineGetter__}}',
    '{{list.constructor}}{{list.map}}{{list.__proto__.length}}',
    '{{text.constructor}}{{text.trim}}{{text.__proto__}}',
    '{{number.toFixed}}{{number.constructor}}',
    '{{lookup this "constructor"}}{{lookup (lookup this "constructor") "name"}}',
    '{{lookup a "__proto__"}}{{lookup list "push"}}{{lookup text "replace"}}',
    '{{#with constructor}}{{name}}{{/with}}{{#with (lookup a "constructor")}}{{name}}{{/with}}',
    '{{#each __proto__}}{{@key}}{{/each}}{{#constructor}}x{{/constructor}}',
    '{{@root.constructor}}{{@key.constructor}}{{[constructor]}}{{"constructor"}}',
    '{{toString}}{{valueOf}}{{hasOwnProperty}}{{this.toString}}{{../constructor}}',
    '{{exact.constructor}}{{exact.rawJSON}}',
  ]
  for (const source of attacks) {
    it(`are out of reach of ${source}`, () => {
      const context = parseExact(
        '{"a":{},"list":[],"text":"","number":1,"exact":12345678901234567890}',
      )

      expect(textOf(source, context)).to.equal('')
    })
  }

  it('do not hide members of a document that have their names', () => {
    const context = parseExact('{"constructor":"c","__proto__":{"a":1}}')

    expect(
      textOf('{{constructor}}{{__proto__.a}}{{#each this}}{{@key}} {{/each}}', context),
    ).to.equal('c1constructor __proto__ ')
  })
})

describe('the limits of a rendering', () => {
  const list = Array.from({ length: 200_000 }, (_, n) => n)
  const long = 'x'.repeat(2_000_000)
  const cases: Readonly<
    Record<string, readonly [source: string, context: JsonValue, message: string]>
  > = {
    'loops within loops': [
      '{{#each list}}{{#each ../list}}{{/each}}{{/each}}',
      { list },
      'more than 1000000 steps',
    ],
    'a loop that writes too much': [
      '{{#each list}}0123456789{{/each}}',
      { list },
      'the rendered text is larger than 1048576 bytes',
    ],
    'a long text': ['{{long}}', { long }, 'the rendered text is larger than 1048576 bytes'],
    'a text that is long in UTF-8': [
      '{{long}}',
      { long: 'é'.repeat(600_000) },
      'larger than 1048576 bytes',
    ],
    'a long list': ['{{list}}', { list: [long] }, 'the rendered text is larger'],
    'a long object': ['{{this}}', { long }, 'the rendered text is larger'],
    'a helper that makes too much': [
      '{{encodeToon this}}',
      { long },
      'what encodeToon makes is larger than 1048576 bytes',
    ],
    'a long text that is read again and again': [
      '{{#each list}}{{#if (scrubHtml ../long)}}{{/if}}{{/each}}',
      { list, long },
      'more than 1000000 steps',
    ],
    'long texts that are compared again and again': [
      '{{#each list}}{{#if (eq ../a ../b)}}{{/if}}{{/each}}',
      { list, a: `${long}a`, b: `${long}b` },
      'more than 1000000 steps',
    ],
    'large objects that are compared again and again': [
      '{{#each list}}{{#if (eq ../large ../larger)}}{{/if}}{{/each}}',
      { list, large: objectOf(5000), larger: objectOf(5001) },
      'more than 1000000 steps',
    ],
    'a number of a million digits that is compared': [
      '{{#if (eq this.n 1)}}{{/if}}',
      parseExact(`{"n": ${'1'.repeat(1_000_000)}}`),
      'more than 1000000 steps',
    ],
    'too many media': [
      '{{#each list}}{{media "a"}}{{/each}}',
      { list },
      'it names more than 64 media',
    ],
    'a medium that is not a text': ['{{media list}}', { list }, 'media: the URL must be a string'],
    'HTML that is not a text': [
      '{{scrubHtml list}}',
      { list },
      'scrubHtml: the value must be a string',
    ],
    'a bad delimiter': ['{{encodeToon list delimiter=";"}}', { list }, 'delimiter must be'],
    'a bad indent': [
      '{{encodeToon list indent=0}}',
      { list },
      'indent must be an integer from 1 to 16',
    ],
    'a bad length marker': [
      '{{encodeToon list lengthMarker="#"}}',
      { list },
      'lengthMarker must be true or false',
    ],
    'a deep value': ['{{this}}', deep(200), 'nests deeper than 100 levels'],
    'a deep value as TOON': ['{{encodeToon this}}', deep(200), 'nests deeper than 100 levels'],
    'deep values that are compared': [
      '{{eq this this.a}}',
      { ...deep(200), a: deep(199) },
      'nests deeper than 100 levels',
    ],
  }
  for (const [what, [source, context, message]] of Object.entries(cases)) {
    it(`refuse ${what} by name, in short steps`, async () => {
      const template = runAtOnce(compileTemplate(source))
      const render = () => renderTemplate(template, context, RENDER_LIMITS_DEFAULT)

      const error = await errorOf(() => runAtOnce(render()))

      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error).to.have.property('message').that.includes(message)
      expect(longestStepAtBestMs(render, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    })
  }

  it('are those of the caller', async () => {
    expect(textOf('{{a}}', { a: 'x'.repeat(10) }, { outputBytesMax: 10 })).to.have.length(10)
    const error = await errorOf(() =>
      textOf('{{a}}', { a: 'x'.repeat(11) }, { outputBytesMax: 10 }),
    )
    expect(error).to.have.property('message', 'template: the rendered text is larger than 10 bytes')
  })
})

describe('the cache of templates', () => {
  it('keeps a template for five minutes after its last use', () => {
    const clock = new ManualClock()
    const cache = new TemplateCache({ clock })
    const first = runAtOnce(cache.get('{{a}}'))

    clock.advance(299_999)
    expect(runAtOnce(cache.get('{{a}}'))).to.equal(first)
    clock.advance(299_999)
    expect(runAtOnce(cache.get('{{a}}'))).to.equal(first)
    clock.advance(300_000)
    expect(runAtOnce(cache.get('{{a}}'))).not.to.equal(first)
  })

  it('drops the oldest templates when its bytes are used up', () => {
    const cache = new TemplateCache({ clock: new ManualClock(), bytesMax: 10_000 })
    const first = runAtOnce(cache.get('{{a}}'))

    for (let n = 0; n < 100; n += 1) {
      runAtOnce(cache.get(`{{a${n}}}`))
      expect(cache.heldBytes).to.be.within(1, 10_000)
    }

    expect(runAtOnce(cache.get('{{a}}'))).not.to.equal(first)
  })

  it('keeps nothing of a template that is larger than itself, or does not compile', async () => {
    const cache = new TemplateCache({ clock: new ManualClock(), bytesMax: 10_000 })

    runAtOnce(cache.get('a'.repeat(10_000)))
    await errorOf(() => runAtOnce(cache.get('{{')))

    expect(cache.heldBytes).to.equal(0)
  })

  it('counts at least the memory that templates take', () => {
    const source = '{{a}}'.repeat(990)
    const cache = new TemplateCache({ clock: new ManualClock(), bytesMax: 100_000_000 })
    const before = usedHeapBytes()

    const kept = Array.from({ length: 100 }, (_, n) => runAtOnce(cache.get(`${source}${n}`)))

    expect(usedHeapBytes() - before).to.be.below(cache.heldBytes)
    expect(kept).to.have.length(100)
  })
})

/** After a collection of garbage. */
function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

function objectOf(members: number): JsonValue {
  return Object.fromEntries(Array.from({ length: members }, (_, n) => [`m${n}`, n]))
}

function deep(levels: number): { [name: string]: JsonValue } {
  let value: { [name: string]: JsonValue } = {}
  for (let level = 0; level < levels; level += 1) value = { a: value }
  return value
}
