import { expect } from 'chai'
import { hasPeerName, isPeerName } from '../../../../../node/peer/channels/peer-names.ts'

function certificate(subjectaltname: string | undefined): Parameters<typeof hasPeerName>[0] {
  return subjectaltname === undefined ? {} : { subjectaltname }
}

describe('names of nodes in certificates', () => {
  const patterns = ['node-*.nodes.svc', '10.0.0.7']
  const cases: readonly (readonly [names: string | undefined, isNode: boolean])[] = [
    ['DNS:node-0.nodes.svc', true],
    ['DNS:NODE-0.Nodes.svc', true],
    ['DNS:web.example, DNS:node-12.nodes.svc', true],
    ['IP Address:10.0.0.7', true],
    ['DNS:grafana.monitoring.svc', false],
    ['DNS:node-0.other.nodes.svc', false],
    ['DNS:node-0.nodes.svc.evil.example', false],
    ['DNS:evil.node-0.nodes.svc', false],
    ['DNS:node-0xnodes.svc', false],
    ['DNS:10.0.0.70', false],
    ['URI:DNS:node-0.nodes.svc', false],
    ['DNS:"a.example, DNS:node-0.nodes.svc"', false],
    ['email:node-0.nodes.svc', false],
    ['', false],
    [undefined, false],
  ]
  for (const [names, isNode] of cases) {
    it(`${isNode ? 'are' : 'are not'} ${names === '' ? 'nothing' : String(names)}`, () => {
      expect(hasPeerName(certificate(names), patterns)).to.equal(isNode)
    })
  }

  it('are of no certificate without patterns', () => {
    expect(hasPeerName(certificate('DNS:node-0.nodes.svc'), [])).to.equal(false)
  })

  it('have patterns that say something', () => {
    const right = ['a', '*.nodes.svc', 'node-*.x', '10.0.0.7', 'fd00::7']
    const wrong = ['', '*', '*.*', '*.', 'a b', 'a/b', '.a', '(a|b)']

    expect([...right, ...wrong].filter(isPeerName)).to.deep.equal(right)
  })
})
