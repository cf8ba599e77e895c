import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { TextMemory } from '../../../../../../node/index/text/engine/text-memory.ts'
import { ViewReader } from '../../../../../../node/index/text/engine/view-reader.ts'
import { openFilesBelow } from '../../../../../support/open-files.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

describe('a reader of views whose question is stopped while it opens one', () => {
  let directory = ''
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'quarry-reader-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('keeps no file open that no snapshot has, whatever the step', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock() })
    for (let i = 1; i <= 3; i += 1) {
      const tokens = tokenListOf([{ term: 'word', position: 0 }])
      const field = { kind: 'text', name: 'body', tokens, length: 1 } as const
      const document = { key: Buffer.from(`k${i}`), expiresAtMs: 0, ordinal: i, fields: [field] }
      index.apply({ sequence: i, upserts: [document], deletes: [] })
      index.flush()
    }
    const { description } = index.view()
    const before = openFilesBelow(directory)

    let steps = 0
    for (let isOpen = false; !isOpen; steps += 1) {
      const reader = new ViewReader(new TextMemory(), DISK_WORK_HERE)
      const opening: Iterator<unknown> = reader.open(description)
      for (let step = 0; step < steps && !isOpen; step += 1) isOpen = opening.next().done === true
      if (!isOpen) opening.return?.()
      reader.close()
      if (!isOpen) expect(openFilesBelow(directory), `after ${steps} steps`).to.deep.equal(before)
    }

    expect(steps).to.be.above(3)
    index.close()
  })
})
