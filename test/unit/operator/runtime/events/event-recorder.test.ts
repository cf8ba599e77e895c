import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import {
  BURST,
  EventRecorder,
  REFILL_MS,
  SERIES_MS,
} from '../../../../../operator/runtime/events/event-recorder.ts'
import { redacted } from '../../../../../operator/runtime/events/redactor.ts'
import { widget } from '../../../../conformance/kubernetes-api.ts'
import { FakeKubernetes } from '../../../../support/kubernetes/fake-kubernetes.ts'
import { ALL_KINDS, EVENTS, WIDGETS } from '../../../../support/kubernetes/known-kinds.ts'

const { signal } = new AbortController()
const SCALED = { type: 'Normal', reason: 'Scaled', action: 'Scale', note: '3 nodes' } as const

describe('EventRecorder', () => {
  it('sends an event in the form that the API takes', async () => {
    const { recorder, object, events } = await open()

    recorder.record(object, SCALED)
    await recorder.flushed()

    const [event] = events()
    expect(event).to.deep.include({
      ...SCALED,
      reportingController: 'quarry.dev/operator',
      reportingInstance: 'operator-0',
    })
    expect(event?.['eventTime']).to.match(/\.\d{6}Z$/)
    expect(event?.['regarding']).to.include({ kind: 'Widget', name: 'a', namespace: 'test' })
  })

  it('counts equal events in a series while they recur (NV2)', async () => {
    const { clock, recorder, object, events } = await open()
    for (let at = 0; at < 4; at++) {
      recorder.record(object, SCALED)
      await recorder.flushed()
      clock.advance(SERIES_MS - 1)
    }
    recorder.record(object, { ...SCALED, note: '4 nodes' })
    await recorder.flushed()
    clock.advance(SERIES_MS)
    recorder.record(object, SCALED)
    await recorder.flushed()

    const counts = events().map(({ note, series }) => [note, Reflect.get(series ?? {}, 'count')])
    expect(counts).to.have.deep.members([
      ['3 nodes', 4],
      ['4 nodes', undefined],
      ['3 nodes', undefined],
    ])
  })

  it('lets one object send so many events and no more (NV3)', async () => {
    const { clock, recorder, object, events } = await open()
    for (let at = 0; at < BURST + 10; at++) recorder.record(object, { ...SCALED, note: `${at}` })
    await recorder.flushed()
    const atOnce = events().length
    clock.advance(REFILL_MS)
    recorder.record(object, { ...SCALED, note: 'later' })
    await recorder.flushed()

    expect([atOnce, events().length]).to.deep.equal([BURST, BURST + 1])
    expect(recorder.figures).to.deep.equal({ sent: BURST + 1, dropped: 10 })
  })

  it('counts what the API refuses, and goes ahead with the next (NV1)', async () => {
    const { api, recorder, object, events } = await open()
    api.faults.add({ verbs: ['create'], times: 1, status: 403 })

    recorder.record(object, SCALED)
    recorder.record(object, { ...SCALED, note: 'other' })
    await recorder.flushed()

    expect(recorder.figures).to.deep.equal({ sent: 1, dropped: 1 })
    expect(events().map(({ note }) => note)).to.deep.equal(['other'])
  })

  it('shows no secret value, and cuts long notes (NV4)', async () => {
    const { recorder, object, events } = await open()

    recorder.record(object, { ...SCALED, note: `token hunter22 ${'ä'.repeat(2000)}` })
    await recorder.flushed()

    const note = String(events()[0]?.['note'])
    expect(note).to.match(/^token \[redacted\] ä+/)
    expect(Buffer.byteLength(note)).to.be.at.most(1024)
  })
})

describe('redacted', () => {
  it('replaces the longest value first, and leaves short ones', () => {
    expect(redacted('abcdef abcd ab', ['abcd', 'abcdef', 'ab', ''])).to.equal(
      '[redacted] [redacted] ab',
    )
  })
})

async function open() {
  const clock = new ManualClock()
  const api = new FakeKubernetes(clock, ALL_KINDS)
  const object = await api.create(WIDGETS, widget('test', 'a', {}), signal)
  const recorder = new EventRecorder({
    api,
    clock,
    log: silentLog,
    controller: 'quarry.dev/operator',
    instance: 'operator-0',
    secrets: () => ['hunter22'],
  })
  const selection = { kind: EVENTS, namespace: 'test', labelSelector: '' }
  return { clock, api, recorder, object, events: () => api.store.select(selection) }
}
