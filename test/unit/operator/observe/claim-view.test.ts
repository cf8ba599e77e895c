import { expect } from 'chai'
import type { ClaimView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { claimViewOf, storageClassOf } from '../../../../operator/observe/claim-view.ts'
import { storedClaim } from '../../../support/operator/pool-objects.ts'

const GIB = 1024 ** 3
const NAME = 'data-books-node-1'
const MARK = {
  at: '2026-11-27T02:00:00.000Z',
  cluster: 'cluster-1',
  nodeID: 'node-1',
  operation: 'operation-1',
}

function viewOf(changes: object = {}): ClaimView {
  return claimViewOf(storedClaim(NAME, changes), { ordinal: 1, isExpandable })
}

function isExpandable(name: string | undefined): boolean {
  return name === 'fast'
}

function annotated(name: string, value: string): object {
  return { metadata: { annotations: { [name]: value } } }
}

describe('the view of a claim', () => {
  it('has what identifies it, and its sizes', () => {
    expect(viewOf()).to.deep.equal({
      name: NAME,
      ordinal: 1,
      uid: `uid-${NAME}`,
      resourceVersion: '7',
      isDeleting: false,
      requestedBytes: 10 * GIB,
      capacityBytes: 10 * GIB,
      isExpandable: true,
    })
  })

  it('is on its way out when it has been deleted', () => {
    const deletionTimestamp = '2026-11-27T02:00:00Z'

    expect(viewOf({ metadata: { deletionTimestamp } }).isDeleting).to.equal(true)
  })

  it('has the cluster that has used it last', () => {
    expect(viewOf(annotated('quarry.dev/cluster-uid', 'other')).clusterUID).to.equal('other')
  })

  it('has no capacity, and cannot grow, until it is bound', () => {
    for (const phase of ['Pending', 'Lost', null]) {
      const status = { phase, capacity: { storage: '10Gi' } }

      expect(viewOf({ status })).to.include({ capacityBytes: 0, isExpandable: false })
    }
  })

  it('has sizes in the form in which the API server writes them', () => {
    const view = viewOf({
      spec: { resources: { requests: { storage: '1181116006400m' } } },
      status: { capacity: { storage: '2e9' } },
    })

    expect(view).to.include({ requestedBytes: 1_181_116_007, capacityBytes: 2e9 })
  })

  it('can grow only if its class can', () => {
    expect(viewOf({ spec: { storageClassName: 'slow' } }).isExpandable).to.equal(false)
    expect(viewOf({ spec: { storageClassName: null } }).isExpandable).to.equal(false)
  })

  it('has the class of its annotation before that of its field', () => {
    const changes = annotated('volume.beta.kubernetes.io/storage-class', 'slow')

    expect(storageClassOf(storedClaim(NAME))).to.equal('fast')
    expect(storageClassOf(storedClaim(NAME, changes))).to.equal('slow')
  })
})

describe('the mark of a drained node', () => {
  it('is what was written', () => {
    expect(markIn(JSON.stringify(MARK))).to.deep.equal(MARK)
  })

  it('is without fields that nobody knows', () => {
    expect(markIn(JSON.stringify({ ...MARK, by: 'somebody' }))).to.deep.equal(MARK)
  })

  const unreadable = {
    'an empty text': '',
    'a word': 'true',
    'a text of JSON': '"drained"',
    'a list': JSON.stringify([MARK]),
    null: 'null',
    'half of it': JSON.stringify(MARK).slice(0, 40),
    'a time that is none': JSON.stringify({ ...MARK, at: 'then' }),
    'an empty node': JSON.stringify({ ...MARK, nodeID: '' }),
    'a number': JSON.stringify({ ...MARK, nodeID: 7 }),
    ...Object.fromEntries(
      Object.keys(MARK).map((name) => [
        `nothing of ${name}`,
        JSON.stringify({ ...MARK, [name]: undefined }),
      ]),
    ),
  }
  for (const [what, text] of Object.entries(unreadable)) {
    it(`is none for ${what}`, () => {
      expect(markIn(text)).to.equal(undefined)
    })
  }
})

describe('what Kubernetes does with the size of a claim', () => {
  it('is nothing', () => {
    expect(resizeOf({})).to.deep.equal({})
  })

  const byCondition: Readonly<Record<string, ClaimView['resize']>> = {
    Resizing: 'Resizing',
    FileSystemResizePending: 'FileSystemResizePending',
    ControllerResizeError: 'Failed',
    NodeResizeError: 'Failed',
  }
  for (const [type, resize] of Object.entries(byCondition)) {
    it(`is ${resize} by the condition ${type}`, () => {
      expect(resizeOf(conditions([type]))).to.deep.equal({ resize, resizeMessage: `it is ${type}` })
      expect(resizeOf(conditions([type], 'False'))).to.deep.equal({})
    })
  }

  const byWord: Readonly<Record<string, ClaimView['resize']>> = {
    ControllerResizeInProgress: 'Resizing',
    NodeResizeInProgress: 'Resizing',
    NodeResizePending: 'FileSystemResizePending',
    ControllerResizeInfeasible: 'Failed',
    NodeResizeInfeasible: 'Failed',
    ControllerResizeFailed: 'Failed',
    NodeResizeFailed: 'Failed',
  }
  for (const [state, resize] of Object.entries(byWord)) {
    it(`is ${resize} by the state ${state}`, () => {
      expect(resizeOf(word(state))).to.deep.equal({ resize, resizeMessage: state })
    })
  }

  it('is what matters most, with its own words', () => {
    expect(
      resizeOf({ ...conditions(['Resizing', 'FileSystemResizePending']), ...word('x') }),
    ).to.deep.equal({
      resize: 'FileSystemResizePending',
      resizeMessage: 'it is FileSystemResizePending',
    })
    expect(
      resizeOf({ ...conditions(['Resizing']), ...word('ControllerResizeInfeasible') }),
    ).to.deep.equal({ resize: 'Failed', resizeMessage: 'ControllerResizeInfeasible' })
    expect(
      resizeOf({ ...conditions(['NodeResizeError']), ...word('NodeResizeInfeasible') }),
    ).to.deep.equal({ resize: 'Failed', resizeMessage: 'it is NodeResizeError' })
  })

  it('is nothing while only its attributes change, or cannot', () => {
    const status = {
      ...conditions(['ModifyingVolume', 'ModifyVolumeError']),
      modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
    }

    expect(resizeOf(status)).to.deep.equal({})
    expect(resizeOf({ ...status, ...word('NodeResizePending') }).resize).to.equal(
      'FileSystemResizePending',
    )
  })
})

function markIn(text: string): ClaimView['drained'] {
  return viewOf(annotated('quarry.dev/drained', text)).drained
}

function resizeOf(status: object): Pick<ClaimView, 'resize' | 'resizeMessage'> {
  const { resize, resizeMessage } = viewOf({ status })
  return {
    ...(resize === undefined ? {} : { resize }),
    ...(resizeMessage === undefined ? {} : { resizeMessage }),
  }
}

function conditions(types: readonly string[], status = 'True'): object {
  return { conditions: types.map((type) => ({ type, status, message: `it is ${type}` })) }
}

function word(storage: string): object {
  return { allocatedResourceStatuses: { storage } }
}
