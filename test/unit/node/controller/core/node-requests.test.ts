import { expect } from 'chai'
import { assert } from '../../../../../lib/assert.ts'
import { seededRandom, type Random } from '../../../../../lib/random.ts'
import {
  requestOfNode,
  type NodeRequest,
  type NodeWish,
} from '../../../../../node/controller/core/node-requests.ts'
import type {
  NodeRecord,
  NodeState,
} from '../../../../../node/controller/core/records/node-record.ts'
import { plantCopy, type Defect } from '../../../../support/simulation/planted-copy.ts'

const SEED = Number(process.env['QUARRY_TEST_SEED'] ?? 1)
const RUNS = 200
const STEPS = 30
const SERVING: NodeRecord = { id: 'n1', zone: '', state: 'serving', incarnation: 1, operation: 'o' }

type Ask = typeof requestOfNode
type Wish = Omit<NodeWish, 'node'>

function ask(record: NodeRecord | undefined, wish: Wish, make: Ask = requestOfNode) {
  const stored = record && { record, revision: 10 }
  const request: NodeRequest = { ...wish, node: 'n1', operation: 'o/2' }
  return make({ nodes: new Map([['n1', { stored }]]) }, request)
}

/** The record after wishes that all are accepted. */
function after(...wishes: readonly Wish[]): NodeRecord {
  return wishes.reduce<NodeRecord>((record, wish) => {
    const answer = ask(record, wish)
    assert('record' in answer, JSON.stringify(answer))
    return answer.record
  }, SERVING)
}

const DRAIN_A = { kind: 'drain', operationId: 'a' } as const
const UNDRAIN_A = { kind: 'undrain', operationId: 'a' } as const

describe('requests for nodes', () => {
  it('change the record of a node on the condition that it is as it was seen', () => {
    const answer = ask(SERVING, { kind: 'drain' })

    const when = [{ key: '/cluster/nodes/n1', modRevision: 10 }]
    expect(answer).to.have.deep.nested.property('commit.when', when)
    expect(answer).to.deep.nested.include({ 'record.state': 'draining', 'record.operation': 'o/2' })
  })

  it('are refused for nodes that are unknown or decommissioned', () => {
    const final = ask({ ...SERVING, state: 'decommissioned' }, { kind: 'undrain' })

    expect(ask(undefined, { kind: 'drain' })).to.deep.equal({
      refused: 'no node n1 has joined the cluster',
    })
    expect(final)
      .to.have.property('refused')
      .which.matches(/empty data directory/)
  })

  it('belong to the operation that they name, and other operations are refused by both names', () => {
    const drained = after(DRAIN_A)

    expect(drained).to.include({ state: 'draining', operationId: 'a' })
    for (const kind of ['drain', 'undrain', 'decommission'] as const) {
      expect(ask(drained, { kind, operationId: 'b' })).to.deep.equal({
        refused: 'n1 is draining by the operation a, and not by b',
      })
    }
    const gone = after(DRAIN_A, { kind: 'decommission', operationId: 'a' })
    expect(gone).to.include({ state: 'decommissioned', operationId: 'a' })
    expect(ask(gone, { kind: 'decommission', operationId: 'b' })).to.have.property('refused')
  })

  it('without an operation are as if there were none', () => {
    const drained = after(DRAIN_A)

    expect(after(DRAIN_A, { kind: 'drain' })).to.deep.equal(drained)
    expect(after(DRAIN_A, { kind: 'undrain' })).to.include({ state: 'serving' })
    expect(after(DRAIN_A, { kind: 'decommission' })).to.include({ state: 'decommissioned' })
    expect(after({ kind: 'drain' }, DRAIN_A)).to.include({ operationId: 'a' })
    expect(ask(after({ kind: 'drain' }), UNDRAIN_A)).to.deep.equal({
      refused: 'n1 is draining by an operation without an id, and not by a',
    })
  })

  it('begin nothing again that was ended, however late they arrive', () => {
    const refused = 'the operation a was ended by an undrain of n1'

    expect(ask(after(DRAIN_A, UNDRAIN_A), DRAIN_A)).to.deep.equal({ refused })
    expect(ask(after(UNDRAIN_A), DRAIN_A)).to.deep.equal({ refused })
    expect(ask(after(DRAIN_A, { kind: 'undrain' }), DRAIN_A)).to.deep.equal({ refused })
    expect(after(DRAIN_A, UNDRAIN_A, { kind: 'drain', operationId: 'b' })).to.include({
      operationId: 'b',
    })
  })

  it(`keep CN1, CN2 and CN3 in any order, QUARRY_TEST_SEED=${SEED}`, () => {
    expect(brokenBy(requestOfNode)).to.equal(undefined)
  })

  for (const [name, defect] of Object.entries(defects())) {
    it(`are found with a defect: ${name}`, async () => {
      const load = plantCopy({ copied: [CORE], linked: LINKED }, { file: FILE, ...defect })
      const { requestOfNode: planted } = await load<{ requestOfNode: Ask }>(`${CORE}/${FILE}`)

      expect(brokenBy(planted)).to.be.a('string')
    })
  }
})

const CORE = 'node/controller/core'
const FILE = 'node-requests.ts'
const LINKED = ['lib', 'node/replication', 'node/coordination']

function defects(): Readonly<Record<string, Omit<Defect, 'file'>>> {
  return {
    'any operation ends a drain': {
      text: 'if (!isEmptied || current === asking) return undefined',
      instead: 'return undefined',
    },
    'any operation takes a drain over': {
      text: 'if (!isEmptied || current === undefined || current === asking) return undefined',
      instead: 'return undefined',
    },
    'an ended operation drains again': {
      text: 'if (asking === endedOperationId) return',
      instead: 'if (asking === undefined) return',
    },
    'an undrain that arrives first is forgotten': {
      text: 'endedOperationId: operationId ?? current ?? before.endedOperationId',
      instead: 'endedOperationId: current ?? before.endedOperationId',
    },
    'an undrain forgets whose drain it ended': {
      text: 'operationId ?? current ?? before.endedOperationId }',
      instead: 'operationId ?? before.endedOperationId }',
    },
    'a drain keeps no operation': {
      text: 'operationId: operationId ?? current }',
      instead: 'operationId: current }',
    },
    'a drain without an operation takes it from the one before': {
      text: 'operationId: operationId ?? current }',
      instead: 'operationId }',
    },
    'a repeated request writes again': {
      text: 'if (encodeNode(after).equals(encodeNode(before)))',
      instead: 'if (after === before)',
    },
  }
}

/** What the first broken promise of random sequences is; undefined: none is broken. */
function brokenBy(make: Ask): string | undefined {
  for (let run = 0; run < RUNS; run++) {
    const broken = brokenIn(make, seededRandom(SEED * RUNS + run))
    if (broken !== undefined) return `run ${run}: ${broken}`
  }
  return undefined
}

/** Whose drain it is, and which operation was ended last: a model in the words of the contract. */
interface Model {
  readonly state: NodeState
  readonly owner: string | undefined
  readonly ended: string | undefined
}

function brokenIn(make: Ask, random: Random): string | undefined {
  let record = SERVING
  let model: Model = { state: 'serving', owner: undefined, ended: undefined }
  for (let step = 0; step < STEPS; step++) {
    const wish = randomWish(random)
    const said = `${JSON.stringify(wish)} of ${JSON.stringify(model)}`
    const answer = ask(record, wish, make)
    if ('refused' in answer !== isRefused(model, wish)) return said
    if ('refused' in answer) continue
    ;({ record } = answer)
    model = modelAfter(model, wish)
    if (record.state !== model.state || record.operationId !== model.owner) return said
    const again = ask(record, wish, make)
    if (!('record' in again) || again.commit !== undefined) return `${said}, again`
  }
  return undefined
}

function isRefused({ state, owner, ended }: Model, { kind, operationId }: Wish): boolean {
  if (state === 'decommissioned' && kind !== 'decommission') return true
  if (operationId === undefined) return false
  const isOfAnother = state !== 'serving' && operationId !== owner
  if (kind === 'undrain') return isOfAnother
  return operationId === ended || (isOfAnother && owner !== undefined)
}

function modelAfter({ owner, ended }: Model, { kind, operationId = owner }: Wish): Model {
  if (kind === 'undrain') return { state: 'serving', owner: undefined, ended: operationId ?? ended }
  const state = kind === 'drain' ? 'draining' : 'decommissioned'
  return { state, owner: operationId, ended }
}

/** A decommission is final, so it is rare. */
function randomWish(random: Random): Wish {
  const kind = random() < 0.1 ? 'decommission' : random() < 0.5 ? 'drain' : 'undrain'
  const operationId = ['a', 'b', 'c', undefined][Math.floor(4 * random())]
  return { kind, operationId }
}
