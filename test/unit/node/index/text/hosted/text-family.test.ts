import { expect } from 'chai'
import { must } from '../../../../../../lib/assert.ts'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { packBatch } from '../../../../../../node/index/host/document-batch.ts'
import { openTextFamily } from '../../../../../../node/index/text/hosted/text-family.ts'

const OPENING = {
  definition: { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: true },
  directory: undefined,
  source: { kind: 'given', schema: undefined },
  fields: [],
} as const

const SELECT_ALL = {
  question: 'select',
  request: {
    conditions: {
      query: undefined,
      filter: undefined,
      exclusion: undefined,
      keyPrefix: undefined,
    },
    nowMs: 1,
  },
} as const

describe('openTextFamily', () => {
  it('remembers selections of an unchanged index for all its engines', () => {
    const family = openTextFamily({
      clock: new ManualClock(),
      memoryBytesMax: 2 ** 20,
      disk: DISK_WORK_HERE,
    })
    const opened = runAtOnce(family.open(OPENING))
    const engine = must(opened.kind === 'open' ? opened.engine : undefined, 'an open engine')
    const selections = () => family.caches()['selections']
    runAtOnce(engine.answer(SELECT_ALL))
    runAtOnce(engine.answer(SELECT_ALL))

    expect(selections()).to.include({ hits: 1, misses: 1 })

    const json = Buffer.from('{}')
    const change = { key: Buffer.from('a'), json, expiresAtMs: 0, ordinal: 0 }
    runAtOnce(engine.apply(packBatch(1, [change]), () => undefined))
    const after = runAtOnce(engine.answer(SELECT_ALL))

    expect(after).to.have.property('count', 1)
    expect(selections()).to.include({ hits: 1 })
  })
})
