// Objects of Kubernetes may have any value where the readers look: another version has written them, or a person.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { poolViewOf } from '../../../../operator/observe/pool-view.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import { isJson } from '../../../support/kubernetes/json-merge.ts'
import {
  CLUSTER,
  CREATED_AT,
  storedClaim,
  storedPod,
  storedSet,
} from '../../../support/operator/pool-objects.ts'
import { errorOf } from '../../../support/error-of.ts'
import { plantCopy } from '../../../support/simulation/planted-copy.ts'
import type { Defect } from '../../../support/simulation/planted-copy.ts'

const WAITING = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } }

/** Each has everything that the readers look for. */
const SET = storedSet()
const POD = storedPod('books-node-0', {
  spec: { containers: [{ name: 'quarry' }, { name: 'inference' }] },
  status: {
    conditions: [
      { type: 'Ready', status: 'False', lastTransitionTime: CREATED_AT },
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' },
    ],
    containerStatuses: [
      { name: 'quarry', ready: false, state: WAITING },
      { name: 'inference', ready: true, state: WAITING },
    ],
    initContainerStatuses: [{ name: 'model-0', state: WAITING }],
  },
})
const CLAIM = storedClaim('data-books-node-0', {
  status: {
    conditions: [{ type: 'Resizing', status: 'True', message: 'it grows' }],
    allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
  },
})

/** The ways to all values of an object but its metadata. */
function pathsIn(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members
    .filter(([name]) => at.length > 0 || name === 'spec' || name === 'status')
    .flatMap(([name, member]) => [[...at, name], ...pathsIn(member, [...at, name])])
}

function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
  if (name === undefined) return by
  if (Array.isArray(value)) {
    return value.map((member, at) => (`${at}` === name ? replaced(member, rest, by) : member))
  }
  return isJson(value) ? { ...value, [name]: replaced(value[name], rest, by) } : value
}

const ODD: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, undefined, true, 0, -1, 1.5, '', '__proto__', [], [null], {}),
  fc.jsonValue({ maxDepth: 2 }),
)

/** The object with odd values at some of its paths. */
function oddly(object: StoredObject): fc.Arbitrary<StoredObject> {
  const change = fc.tuple(fc.constantFrom(...pathsIn(object)), ODD)
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const changed = changes.reduce<unknown>((all, [path, odd]) => replaced(all, path, odd), object)
    const { spec, status } = isJson(changed) ? changed : {}
    return { ...object, spec, status }
  })
}

/** A mark that may be anything. */
const MARK = fc.oneof(fc.string(), fc.json(), fc.constantFrom('null', '[]', '{"at":1}'))

const NUMBERS = /(?:Bytes|AtMs|eneration)$|^(?:replicas|partition|ordinal)$/
const FLAGS = /^is[A-Z]/
const PARTS = /^(?:template|problem|inference|drained)$/

/** Fields whose values have not the type that the views say. */
function wrongFields(view: object): string[] {
  return Object.entries(view).flatMap(([name, value]) => {
    if (PARTS.test(name)) return wrongFields(value)
    const isRight = NUMBERS.test(name)
      ? Number.isFinite(value)
      : typeof value === (FLAGS.test(name) ? 'boolean' : 'string')
    return isRight ? [] : [name]
  })
}

function checkAnyObjects(read: typeof poolViewOf): void {
  const objects = fc.record({ set: oddly(SET), pod: oddly(POD), claim: oddly(CLAIM), mark: MARK })
  fc.assert(
    fc.property(objects, ({ set, pod, claim, mark }) => {
      const annotations = { 'quarry.dev/drained': mark }
      const marked = { ...claim, metadata: { ...claim.metadata, annotations } }
      const of = { cluster: CLUSTER, component: 'node', isExpandable: () => true } as const

      const { set: setView, pods, claims } = read({ set, pods: [pod], claims: [marked] }, of)

      const all = [setView ?? {}, ...pods, ...claims]
      expect(all.map(wrongFields)).to.deep.equal([[], [], []])
    }),
    { numRuns: 500 },
  )
}

const OBSERVE = 'operator/observe'

const DEFECTS: Readonly<Record<string, Defect>> = {
  'a path through what is no record': {
    file: 'json-fields.ts',
    text: '(isJsonRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined)',
    instead: '(at as any)[name]',
  },
  'a list that is believed to have records': {
    file: 'json-fields.ts',
    text: 'Array.isArray(found) ? found.filter(isJsonRecord) : []',
    instead: 'Array.isArray(found) ? found : []',
  },
  'a number that is believed to be whole': {
    file: 'json-fields.ts',
    text: 'return isWhole(found) ? found : undefined',
    instead: 'return found as number',
  },
  'a text that is believed to be one': {
    file: 'json-fields.ts',
    text: 'return isText(found) ? found : undefined',
    instead: 'return found as string',
  },
  'a time that is believed to be one': {
    file: 'json-fields.ts',
    text: 'return Number.isNaN(ms) ? undefined : ms',
    instead: 'return ms',
  },
  'a mark that is believed to be JSON': {
    file: 'claim-view.ts',
    text: 'parseJsonRecord(Buffer.from(text))',
    instead: 'JSON.parse(text)',
  },
}

describe('the view of a pool', () => {
  it('is made of objects that have any value in any field', () => {
    checkAnyObjects(poolViewOf)
  })

  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`would not be made with ${name}`, async () => {
      const linked = ['kinds', 'machines', 'resources', 'runtime'].map((one) => `operator/${one}`)
      const load = plantCopy({ copied: [OBSERVE], linked: [...linked, 'lib'] }, defect)
      const copy = await load<{ poolViewOf: typeof poolViewOf }>(`${OBSERVE}/pool-view.ts`)

      await errorOf(() => checkAnyObjects(copy.poolViewOf))
    })
  }
})
