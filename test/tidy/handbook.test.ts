// docs/reference/handbook.md against the code: its tables are made (pages.test.ts), and this is about the rest.

import { globSync } from 'node:fs'
import { expect } from 'chai'
import { PROCEDURES } from '../../operator/handbook/core/advice.ts'
import type { Advice } from '../../operator/handbook/core/advice.ts'
import {
  anchorFor,
  CONDITION_ADVICE,
  slugOf,
} from '../../operator/handbook/conditions/advice-for.ts'
import { isKnownEvent } from '../../operator/handbook/events.ts'
import { OPERATIONS } from '../../operator/handbook/operations.ts'
import { ROOT, textOf } from './imports.ts'

const PAGE = 'docs/reference/handbook.md'
/** The version of the kind, and who reports events. */
const OTHER_NAMES: ReadonlySet<string> = new Set(['v1alpha1', 'operator'])
/** The runtime has reasons of the API server, and none of its own. */
const WITHOUT_EVENTS = /^operator\/(?:handbook|runtime)\//
const ACT_LENGTH_MAX = 160

const page = textOf(PAGE)
const anchors = [...page.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading = '']) => slugOf(heading))
const sources = globSync('operator/**/*.ts', { cwd: ROOT })

const advice = Object.entries(CONDITION_ADVICE).flatMap(([type, reasons]) =>
  Object.entries<Advice>(reasons).map(([reason, given]) => ({ type, reason, given })),
)

describe('the handbook of the operator', () => {
  it('has a section for each condition and each procedure that a hint names, and each once', () => {
    const named = [
      ...advice.map(({ type, given }) => anchorFor(type, given)),
      ...Object.keys(CONDITION_ADVICE).map((type) => anchorFor(type, undefined)),
      ...Object.values(PROCEDURES).map(slugOf),
    ]

    expect(named.filter((anchor) => !anchors.includes(anchor))).to.deep.equal([])
    expect(new Set(anchors).size).to.equal(anchors.length)
  })

  it('has links to sections that are there', () => {
    const targets = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor)

    expect(targets.length).to.be.greaterThan(5)
    expect(targets.filter((anchor) => !anchors.includes(anchor))).to.deep.equal([])
  })

  it('tells of each annotation and finalizer of the code', () => {
    const names = new Set(sources.flatMap((file) => namesIn(textOf(file))))

    expect([...names]).to.include.members(['paused', 'drained', 'cluster-cleanup'])
    const untold = [...names].filter((name) => !page.includes(`quarry.dev/${name}`))
    expect(untold).to.deep.equal([])
  })

  it('tells of each event of the code', () => {
    const reasons = sources
      .filter((file) => !WITHOUT_EVENTS.test(file))
      .flatMap((file) => [...textOf(file).matchAll(/\bnormal\('(\w+)'|\breason: '([A-Z]\w+)'/g)])
      .flatMap(([, first, second]) => first ?? second ?? [])

    expect(reasons.length).to.be.greaterThan(20)
    expect([...new Set(reasons)].filter((reason) => !isKnownEvent(reason))).to.deep.equal([])
    expect(isKnownEvent('NobodyKnows')).to.equal(false)
  })

  it('tells on one line what to do, for each trouble', () => {
    const wrong = advice.filter(({ given: { tone, act } }) => {
      const isLine = !act.includes('\n') && !act.endsWith('.') && act.length <= ACT_LENGTH_MAX
      return !isLine || (tone === 'trouble' && (act === 'nothing' || act === 'wait'))
    })

    expect(wrong.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([])
  })

  it('names a cause that is another condition, and whose own causes do not lead back', () => {
    const causes = new Map(
      advice.map(({ type, reason, given }) => [`${type} ${reason}`, given.cause]),
    )
    const selves = [...causes].filter(([key, cause]) => key.startsWith(`${cause} `))
    const back = advice.filter(({ type, given: { cause } }) =>
      advice.some((other) => other.type === cause && other.given.cause === type),
    )

    expect(selves).to.deep.equal([])
    expect(back.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([])
  })

  it('has the phases of an operation that its machine knows', () => {
    for (const { phases } of Object.values(OPERATIONS)) {
      expect(new Set(phases).size).to.equal(phases.length)
    }
    const written = sources
      .filter((file) => file.startsWith('operator/machines/'))
      .flatMap((file) => [
        ...textOf(file).matchAll(/(?:inPhase|goTo|beginOperation)\([^)]*?'(\w+)'[^)]*\)/gs),
      ])
      .flatMap(([, phase]) => phase ?? [])
    const told: readonly string[] = Object.values(OPERATIONS).flatMap(({ phases }) => phases)

    expect(written).to.include('Decommissioning')
    expect(
      [...new Set(written)].filter((word) => !told.includes(word) && !(word in OPERATIONS)),
    ).to.deep.equal([])
  })
})

/** Names below the group of the operator. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/(?:\$\{GROUP\}|quarry\.dev)\/([a-z][a-z0-9-]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !OTHER_NAMES.has(name))
}
