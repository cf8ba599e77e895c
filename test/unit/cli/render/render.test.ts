import { expect } from 'chai'
import * as fc from 'fast-check'
import { curlLines } from '../../../../cli/demo/demo-step.ts'
import { prettyJson } from '../../../../cli/render/json-text.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  plural,
} from '../../../../cli/render/quantity.ts'
import { formatTable } from '../../../../cli/render/text-table.ts'
import { printable } from '../../../../lib/process/log-words.ts'
import { cutText, textWidth, wrap } from '../../../../cli/render/text-width.ts'

const PLAIN = { columns: 40, color: false, isTty: true }

describe('text width', () => {
  const widths: readonly (readonly [text: string, width: number])[] = [
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['漢字', 4],
    ['한', 2],
    ['👩‍💻', 2],
    ['✅', 2],
    ['क्षि', 3],
    ['ﾊﾟ', 2],
    ['①', 1],
    ['a\u200bb', 2],
    ['', 0],
  ]
  for (const [text, width] of widths) {
    it(`of ${JSON.stringify(text)} is ${width}`, () => {
      expect(textWidth(text)).to.equal(width)
    })
  }

  it('is never exceeded by a cut text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 20 }),
        (text, width) => {
          expect(textWidth(cutText(text, width))).to.be.at.most(width)
        },
      ),
    )
  })

  it('is safe: characters that move the cursor or turn the text become spaces', () => {
    expect(printable('a\u001b[2J\nb\u202ec\u009bd')).to.equal('a [2J b c d')
  })
})

describe('text table', () => {
  const columns = [{ title: 'NAME' }, { title: 'N', align: 'right' }, { title: 'TEXT' }] as const

  it('pads cells to the width of their columns', () => {
    const table = formatTable(
      columns,
      [
        ['漢字', '7', 'x'],
        ['a', '12', 'y'],
      ],
      PLAIN,
    )

    expect(table).to.equal('NAME   N  TEXT\n漢字   7  x\na     12  y')
  })

  it('cuts the widest column to fit the screen', () => {
    const table = formatTable(columns, [['short', '1', 'long '.repeat(20)]], PLAIN)

    expect(table.split('\n')[1]).to.equal('short  1  long long long long long long…')
  })

  it('cuts nothing in a pipe', () => {
    const text = 'long '.repeat(20)

    const table = formatTable(columns, [['short', '1', text]], { ...PLAIN, isTty: false })

    expect(table.split('\n')[1]).to.equal(`short  1  ${text}`.trimEnd())
  })

  it('dims the header alone, and only in colour', () => {
    const table = formatTable(columns, [['a', '1', 'b']], { ...PLAIN, color: true })

    expect(table).to.equal('\u001b[2mNAME  N  TEXT\u001b[0m\na     1  b')
  })
})

describe('pretty JSON', () => {
  it('keeps the value at any width of the screen', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 120 }), (value, columns) => {
        const shown = prettyJson(JSON.stringify(value), { columns, color: false })
        expect(JSON.parse(shown)).to.deep.equal(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('keeps the digits of numbers', () => {
    expect(prettyJson('{"a":12345678901234567890,"b":1.0}', PLAIN)).to.equal(
      '{ "a": 12345678901234567890, "b": 1.0 }',
    )
  })

  it('breaks values that do not fit, and fills lines with plain values', () => {
    const text = '{"name":"express","list":["accepts","body-parser","cookie","debug"],"o":{}}'

    expect(prettyJson(text, { columns: 32, color: false }).split('\n')).to.deep.equal([
      '{',
      '  "name": "express",',
      '  "list": [',
      '    "accepts", "body-parser",',
      '    "cookie", "debug"',
      '  ],',
      '  "o": {}',
      '}',
    ])
  })

  it('colours names and values apart', () => {
    expect(prettyJson('{"a":"b","c":1}', { columns: 40, color: true })).to.equal(
      '{ \u001b[36m"a"\u001b[0m: \u001b[32m"b"\u001b[0m, \u001b[36m"c"\u001b[0m: \u001b[33m1\u001b[0m }',
    )
  })

  it('escapes characters that would control the terminal', () => {
    expect(prettyJson('{"\u009b":"\u202e"}', PLAIN)).to.equal('{ "\\u009b": "\\u202e" }')
  })
})

describe('quantities', () => {
  it('are written for people', () => {
    expect([0, 999, 1000, 1_234_567, 123_456_789, 999_999].map(formatBytes)).to.deep.equal([
      '0 B',
      '999 B',
      '1.0 KB',
      '1.2 MB',
      '123 MB',
      '1.0 MB',
    ])
    expect([12.4, 1500, 61_000].map(formatDuration)).to.deep.equal(['12 ms', '1.5 s', '1 min 1 s'])
    expect(formatCount(1_234_567.8)).to.equal('1,234,568')
    expect([0, 1, 2].map((count) => plural(count, 'shard'))).to.deep.equal([
      '0 shards',
      '1 shard',
      '2 shards',
    ])
  })
})

describe('demo texts', () => {
  it('wrap at words', () => {
    expect(wrap('one two three four', 9)).to.deep.equal(['one two', 'three', 'four'])
  })

  it('quote an address that the shell would read differently', () => {
    const lines = curlLines({ method: 'GET', path: '/a?b=c' }, 'http://h', PLAIN)

    expect(lines).to.deep.equal(["curl 'http://h/api/v1/a?b=c'"])
  })
})
