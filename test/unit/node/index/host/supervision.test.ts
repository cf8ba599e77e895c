import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { silentLog, type Log } from '../../../../../lib/log.ts'
import { errorOf } from '../../../../support/error-of.ts'
import {
  openTestPool,
  textOp,
  textSearch,
  TextShard,
  WORDS,
} from '../../../../support/worlds/text-shard.ts'

const ENTRY = new URL('../../../../support/fakes/pathological-index-worker.ts', import.meta.url)
/** A worker that is not run for a while on a busy machine does not hang. */
const HANG_MS = 4000

/** What was logged: messages and fields. */
class Heard {
  readonly errors: { readonly message: string; readonly fields: object }[] = []
  readonly log: Log = {
    ...silentLog,
    error: (message, fields = {}) => this.errors.push({ message, fields }),
  }

  of(message: string): readonly object[] {
    return this.errors.filter((one) => one.message === message).map(({ fields }) => fields)
  }
}

function openShard(heard: Heard): Promise<TextShard> {
  const { log } = heard
  const pool = openTestPool({ log, hangMs: HANG_MS, entry: ENTRY })
  return TextShard.open({ pool, log })
}

async function searchField(text: TextShard, field: string): Promise<string> {
  const deadlineMs = systemClock.monotonicMs() + 30_000
  const limits = { signal: AbortSignal.timeout(240_000), deadlineMs }
  return String(
    await errorOf(() => text.shard.search(WORDS.name, textSearch('tide', field), limits)),
  )
}

describe('a worker of indexes', () => {
  for (const fate of ['hang', 'end'] as const) {
    it(`that ${fate}s at a document continues without it, and names it`, async () => {
      const heard = new Heard()
      await using text = await openShard(heard)
      await text.write(textOp('a', 'high tide'))
      await text.caughtUp()

      await text.write(textOp('poison', 'low tide', { [fate]: true }), textOp('c', 'spring tide'))
      await text.caughtUp()

      expect(await text.find('tide')).to.deep.equal(['a', 'c'])
      expect(await text.status()).to.include({ documentsSetAside: 1, error: undefined })
      expect(heard.of('document is set aside')[0]).to.include({
        index: WORDS.name,
        key: '"poison"',
      })
      const hangs = heard.of('index worker hangs')
      expect(hangs).to.have.length(fate === 'hang' ? 2 : 0)
      for (const hang of hangs) expect(hang).to.include({ operation: 'apply' })
    }).timeout(240_000)
  }

  it('shows no earlier version of a document that it leaves out, and indexes its next version', async () => {
    const heard = new Heard()
    await using text = await openShard(heard)
    await text.write(textOp('a', 'high tide'))
    await text.write(textOp('a', 'low tide', { end: true }))
    await text.caughtUp()
    const found = await text.find('tide')

    await text.write(textOp('a', 'spring tide'))
    await text.caughtUp()

    expect(found).to.deep.equal([])
    expect(await text.find('spring')).to.deep.equal(['a'])
    expect(await text.status()).to.include({ documentsSetAside: 0 })
  }).timeout(240_000)

  it('refuses a search that ended it twice, and answers the others', async () => {
    const heard = new Heard()
    await using text = await openShard(heard)
    await text.write(textOp('a', 'high tide'))
    await text.caughtUp()

    const answers: string[] = []
    while (answers.length < 3) {
      const answer = await searchField(text, 'end')
      // Meanwhile the index may not have been opened again.
      if (!answer.includes('again later')) answers.push(answer)
    }

    expect(answers[0]).to.contain('the index worker failed')
    expect(answers[1]).to.contain('the index worker failed')
    expect(answers[2]).to.contain('ended the index worker twice')
    expect(heard.of('search is set aside')).to.have.length(1)
    expect(await text.find('tide')).to.deep.equal(['a'])
  }).timeout(240_000)
})
