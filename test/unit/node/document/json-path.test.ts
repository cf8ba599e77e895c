import { expect } from 'chai'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { parseJsonPath, textAtJsonPath } from '../../../../node/document/json-path.ts'

const DOCUMENT = {
  title: 'top',
  'a.b': 'literal',
  a: { b: 'nested', 'c d': 'spaced', "it's": 'quoted', '': 'empty' },
  items: [{ name: 'first' }, { name: 'second' }, [3, [4]]],
  $ref: 'dollar',
  pad: 'x'.repeat(300_000),
  last: null,
}

describe('paths to one value', () => {
  const values: readonly (readonly [string, unknown])[] = [
    ['title', 'top'],
    ['$.title', 'top'],
    ["$['title']", 'top'],
    ['["title"]', 'top'],
    ['a.b', 'literal'],
    ['$.a.b', 'nested'],
    ["a['c d']", 'spaced'],
    ['a.c d', 'spaced'],
    [String.raw`$.a['it\'s']`, 'quoted'],
    ["$.a['']", 'empty'],
    ['$.items[0].name', 'first'],
    ['items[1].name', 'second'],
    ['$.items[2][1][0]', 4],
    ['$ref', 'dollar'],
    ['last', null],
    ['absent', undefined],
    ['title.deeper', undefined],
    ['title[0]', undefined],
    ['items.name', undefined],
    ['items[3]', undefined],
    ['a[0]', undefined],
  ]
  for (const [text, expected] of values) {
    it(`finds ${text}`, () => {
      const path = parseJsonPath(text, 'field')

      const found = runAtOnce(textAtJsonPath(Buffer.from(JSON.stringify(DOCUMENT)), path))

      expect(found && JSON.parse(found.toString())).to.deep.equal(expected)
    })
  }

  const refusals: readonly (readonly [string, string])[] = [
    ['', 'field: "" does not parse at character 0'],
    ['$', '"$" is the whole document'],
    ['.a', 'does not parse at character 0'],
    ['a.', 'does not parse at character 1'],
    ['a..b', 'does not parse at character 1'],
    ['$..name', 'does not parse at character 1'],
    ['$.items[*].name', 'does not parse at character 7'],
    ['$.items[-1]', 'does not parse at character 7'],
    ['$.items[01]', 'does not parse at character 7'],
    ['$.items[?(@.a)]', 'does not parse at character 7'],
    ["$['open", 'does not parse at character 1'],
    ['$.a]', 'does not parse at character 3'],
    ['a[0]b', 'does not parse at character 4'],
    ['$.*', 'does not parse at character 1'],
    ['[0].name', 'must begin with a name'],
    ['x'.repeat(1025), 'a path may have 1024 characters, not 1025'],
  ]
  for (const [text, message] of refusals) {
    it(`refuses ${JSON.stringify(text.slice(0, 30))}`, () => {
      expect(() => parseJsonPath(text, 'field'))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})
