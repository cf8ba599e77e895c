import { expect } from 'chai'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { parseExact, stringifyExact } from '../../../../node/document/exact-json.ts'
import { parseInParts, parseSentInParts } from '../../../../node/document/exact-json-parts.ts'

/** Compact, with numbers that a double cannot carry. */
const ROW =
  '{"id":12345678901234567890,"name":"sea \\u00e9\\n","tags":[1,2.5,null,true],"__proto__":{"a":1}}'

describe('parsing JSON in parts', () => {
  const long = JSON.stringify('é"'.repeat(60_000))
  const cases: Readonly<Record<string, string>> = {
    'a small object': ROW,
    'a long list': `[${Array.from({ length: 2_000 }, () => ROW).join(',')}]`,
    'a long string': long,
    'an object with large members': `{"a":${long},"b":[${`${ROW},`.repeat(999)}${ROW}],"c":7}`,
    'deep nesting': `${'{"a":['.repeat(40)}${long}${']}'.repeat(40)}`,
  }
  for (const [name, json] of Object.entries(cases)) {
    it(`reads ${name} exactly`, () => {
      const parsed = runAtOnce(parseInParts(Buffer.from(json)))

      const normal = json.replaceAll('\\u00e9', 'é')
      expect(stringifyExact(parsed) === normal, 'the same text').to.equal(true)
    })
  }

  const rows = Array.from({ length: 700 }, () => ROW)
  const sent: Readonly<Record<string, string>> = {
    'white space everywhere': `\r\n { "list" :\t[ ${rows.join(' ,\n')} ] , "n" : 1.0 , "n" : 2 } \n`,
    'a list of lists': ` [[${rows.join()}] , [ ]] `,
    'a long string': ` ${long}`,
  }
  for (const [name, json] of Object.entries(sent)) {
    it(`reads what a client has sent with ${name}`, () => {
      const parsed = runAtOnce(parseSentInParts(Buffer.from(json)))

      expect(stringifyExact(parsed) === stringifyExact(parseExact(json)), 'the same').to.equal(true)
    })
  }

  it('refuses what a client has sent that is not JSON', () => {
    const whole = `{"list":[${rows.join()}]}`
    const broken = [
      `${whole},`,
      `${whole} {}`,
      whole.slice(0, -1),
      whole.slice(0, 40_000),
      `[${whole}`,
      `${long}"`,
    ]
    const deep = `${'['.repeat(110)}${long}${']'.repeat(110)}`

    for (const text of [...broken, deep, ' '.repeat(50_000)]) {
      expect(() => runAtOnce(parseSentInParts(Buffer.from(text))), text.slice(-20))
        .to.throw()
        .with.property('code', 'INVALID_ARGUMENT')
    }
  })

  it('pauses in a long text', () => {
    const json = Buffer.from(`[${Array.from({ length: 5_000 }, () => ROW).join(',')}]`)

    const pauses = Array.from(parseInParts(json)).length

    expect(pauses).to.be.at.least(json.length / 64 / 1024)
  })
})
