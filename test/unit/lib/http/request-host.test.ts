import { expect } from 'chai'
import { hostsOf, nameOfHost, namesAnotherHost } from '../../../../lib/http/request-host.ts'

describe('the host of a request', () => {
  const cases: readonly (readonly [target: string, host: string, another: boolean])[] = [
    ['/a?b=http://other', 'here:80', false],
    ['*', 'here', false],
    ['http://here/a', 'here', false],
    ['http://HERE:80/a', 'here', false],
    ['https://here/a', 'here:443', false],
    ['http://here:8080', 'here:8080', false],
    ['http://other/a', 'here', true],
    ['http://here:8081/a', 'here:8080', true],
    ['http://user@here/a', 'here', true],
    ['http://here/a', 'here:443', true],
    ['HTTP://other?x', 'here', true],
    ['http://other/a', '', false], // HTTP/1.0 has no header, and the target alone counts
  ]
  for (const [target, host, another] of cases) {
    it(`of ${target} and ${host === '' ? 'no header' : host} is ${another ? 'two' : 'one'}`, () => {
      expect(namesAnotherHost(target, host)).to.equal(another)
    })
  }

  it('is read from every header of that name', () => {
    expect(hostsOf(['Host', 'A:1', 'x', 'y', 'hOsT', 'b'])).to.deep.equal(['a:1', 'b'])
    expect(['a:1', '[::1]:80', '[::1]'].map(nameOfHost)).to.deep.equal(['a', '[::1]', '[::1]'])
  })
})
