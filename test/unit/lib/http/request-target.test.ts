import { expect } from 'chai'
import { normalizeTarget } from '../../../../lib/http/request-target.ts'

/** The target after it was put into its one form; undefined if it was refused. */
function normalized(url: string): string | undefined {
  const request = { url }
  return normalizeTarget(request) === undefined ? request.url : undefined
}

describe('the target of a request', () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '/a/b?c=d': '/a/b?c=d',
    '/a#part': '/a',
    '*': '*',
    'http://localhost:8080/a/b?c': '/a/b?c',
    'HTTP://LOCALHOST/lookup/..': '/lookup/..',
    'http://localhost/lookup/%2e%2e': '/lookup/%2e%2e',
    'http://localhost/a/./b': '/a/./b',
    'http://localhost/a#part': '/a',
    'http://localhost': '/',
    'http://localhost?c=d': '/?c=d',
    'localhost:80': undefined,
    'a/b': undefined,
    '': undefined,
  }
  for (const [target, expected] of Object.entries(cases)) {
    it(`${JSON.stringify(target)} is ${JSON.stringify(expected) ?? 'refused'}`, () => {
      expect(normalized(target)).to.equal(expected)
    })
  }
})
