import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { buildReport } from '../../../../cli/k8s/cluster-report.ts'
import type { ReadCluster } from '../../../../cli/k8s/cluster-reader.ts'
import { describeReport } from '../../../../cli/k8s/report-view.ts'
import { textWidth } from '../../../../cli/render/text-width.ts'
import { CLUSTER_CASES } from '../../../support/operator/cluster-cases.ts'
import {
  clusterObject,
  conditions,
  event,
  member,
  NOW_MS,
  pod,
  read,
  statusOf,
  volume,
} from '../../../support/operator/cluster-states.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../golden/k8s-status')
const PLACE = {
  context: 'kind-quarry',
  server: 'https://127.0.0.1:6443',
  namespace: 'library',
  name: 'books',
}
const TERMINAL = { columns: 100, isTty: true, color: false }

function shown(cluster: ReadCluster, screen = TERMINAL, isWhole = false): string {
  return describeReport(buildReport(cluster, PLACE), { screen, nowMs: NOW_MS, isWhole })
}

const fileOf = (name: string): string => path.join(FOLDER, `${name.replaceAll(' ', '-')}.txt`)

describe('the status of a cluster on Kubernetes', () => {
  for (const [name, cluster] of Object.entries(CLUSTER_CASES)) {
    it(`is shown as in its file: ${name}`, () => {
      const text = `${shown(cluster())}\n`
      if (process.env['QUARRY_GOLDEN'] === 'write') writeFileSync(fileOf(name), text)

      expect(existsSync(fileOf(name)), 'QUARRY_GOLDEN=write writes the files').to.equal(true)
      expect(text).to.equal(readFileSync(fileOf(name), 'utf8'))
    })

    for (const columns of [80, 120, 200]) {
      it(`fits on ${columns} columns and 50 lines: ${name}`, () => {
        const lines = shown(cluster(), { ...TERMINAL, columns }).split('\n')

        expect(lines.filter((line) => textWidth(line) > columns)).to.deep.equal([])
        expect(lines.length).to.be.at.most(50)
        expect(lines.filter((line) => line.trimEnd() !== line)).to.deep.equal([])
      })
    }
  }

  it('has no file of a state that nobody shows', () => {
    const names = Object.keys(CLUSTER_CASES).map(fileOf)

    expect(globSync(`${FOLDER}/*`).toSorted()).to.deep.equal(names.toSorted())
  })

  it('is painted on a terminal with colours, and has the same words', () => {
    const cluster = CLUSTER_CASES['etcd without quorum']!()
    const painted = shown(cluster, { ...TERMINAL, color: true })

    expect(painted).to.include('\u001b[31m')
    expect(stripVTControlCharacters(painted)).to.equal(shown(cluster))
  })

  it('cuts nothing in a pipe', () => {
    const text = shown(CLUSTER_CASES['a hundred nodes']!(), { ...TERMINAL, isTty: false })

    expect(text).to.not.include('…')
    expect(text).to.include('0/100 nodes are available: insufficient memory\n')
  })

  it('lists every node if it is asked to', () => {
    const text = shown(CLUSTER_CASES['a hundred nodes']!(), TERMINAL, true)

    expect(text.match(/^books-node-\d+ /gm)).to.have.length(100)
    expect(text).to.not.include('--all')
  })

  it('lets no control character of the API reach the terminal', () => {
    const evil = 'a\u001b[2Jb\u009bc\r\n\u202ed'
    const status = statusOf(1, {
      healthMessage: evil,
      version: evil,
      endpoints: { client: evil },
      members: [member(0, { podName: evil, zone: evil, version: evil })],
      volumes: [volume(evil, { state: 'Lost' })],
      etcd: {
        ready: 0,
        desired: 1,
        leader: evil,
        members: [{ name: evil, ready: false, version: evil }],
      },
      operation: {
        type: 'Create',
        id: evil,
        phase: 'Gate',
        startedAt: evil,
        lastProgressAt: evil,
        attempts: 0,
        message: evil,
      },
      conditions: conditions({ SpecValid: ['False', 'InvalidSpec', evil] }),
    })
    const text = shown(
      read(clusterObject(status, { mode: evil }), {
        pods: [pod(evil, { waiting: { reason: evil, message: evil } })],
        events: [event(evil, evil, 1, evil)],
        gaps: [evil],
      }),
    )

    expect(text.replaceAll('\n', '')).to.not.match(/[\p{Cc}\u202a-\u202e]/u)
    expect(text).to.include('a [2Jb c d')
  })
})

describe('what needs attention', () => {
  it('is what is not as it should be, and of a trouble and what follows from it the trouble alone', () => {
    const { attention } = buildReport(CLUSTER_CASES['etcd without quorum']!(), PLACE)

    expect(attention.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([
      'EtcdReady QuorumLost',
    ])
    expect(attention[0]?.page).to.equal('docs/reference/handbook.md#etcd-lost-its-quorum')
  })

  it('is nothing of a cluster that starts, sleeps or is well', () => {
    for (const name of ['healthy', 'creating', 'rolling', 'hibernated', 'not looked at']) {
      expect(buildReport(CLUSTER_CASES[name]!(), PLACE).attention, name).to.deep.equal([])
    }
  })

  it('is also what another version of the operator wrote, unless it is good', () => {
    const status = {
      ...statusOf(3),
      conditions: [
        ...conditions(),
        ...['BackupHealthy', 'TLSReady'].map((type) => ({
          type,
          status: type === 'TLSReady' ? 'True' : 'False',
          reason: 'NoRecentSuccess',
          message: 'none for a week',
          observedGeneration: 3,
          lastTransitionTime: '2026-11-20T12:00:00Z',
        })),
      ],
    }
    const object = { ...clusterObject(statusOf(3)), status }
    const { attention } = buildReport(read(object), PLACE)

    expect(attention.map(({ type }) => type)).to.deep.equal(['BackupHealthy'])
    expect(attention[0]?.act).to.include('another version of the operator')
  })

  it('is found in a status of which parts cannot be read', () => {
    const status = {
      ...CLUSTER_CASES['invalid spec']!().object['status']!,
      members: 7,
      phase: 'New',
    }
    const object = { ...clusterObject(undefined), status }

    const report = buildReport(read(object), PLACE)

    expect(report.attention.map(({ type }) => type)).to.include('SpecValid')
    expect(report.status).to.not.have.any.keys('members', 'phase')
  })
})
