// F7: the wall clock of a node is wrong, and jumps. libfaketime (Debian's faketime) reads the offset from a file.

import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { must } from '../../../../lib/assert.ts'
import type { LabNode } from '../lab-node.ts'
import { pauseFor, type Scenario, type Stage } from './scenario.ts'

const LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1'
/** Between two jumps the node's clock is as wrong for so long. */
const WRONG_MS = 5000

export const CLOCKS: readonly Scenario[] = [
  {
    id: 'F7',
    title: 'the wall clock of one node jumps by a second, by a minute, by an hour, ahead and back',
    holds: 'no promise is broken; the others serve; all is well when the clock is right',
    run: leapingClock,
    undo: restartPlain,
  },
]

/** The node whose start is not the usual one. */
const altered = new WeakMap<Stage, LabNode>()

async function leapingClock(stage: Stage): Promise<void> {
  const { lab } = stage
  const library = must(globSync(LIBRARIES)[0], 'libfaketime (apt-get install faketime)')
  const node = await lab.leader()
  altered.set(stage, node)
  const offset = path.join(lab.directory, `${node.name}.offset`)
  await writeFile(offset, '+0')
  await node.stop()
  await node.start({
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  })
  for (const seconds of ['+1', '-1', '+60', '-60', '+3600', '-3600', '+0']) {
    stage.note(`the clock of ${node.name} is at ${seconds} s`)
    await writeFile(offset, seconds)
    await pauseFor(Math.max(WRONG_MS, stage.lastsMs / 7))
  }
}

async function restartPlain(stage: Stage): Promise<void> {
  await altered.get(stage)?.kill()
}
