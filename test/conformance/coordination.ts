import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  COMMIT_BYTES_MAX,
  KEY_BYTES_MAX,
  OPS_PER_COMMIT_MAX,
  VALUE_BYTES_MAX,
  WATCH_BUFFER_MAX,
} from '../../node/coordination/coordination.ts'
import type {
  Change,
  Commit,
  CommitOutcome,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
} from '../../node/coordination/coordination.ts'
import { errorOf } from '../support/error-of.ts'

export const putting = (key: string, value = ''): Change => ({
  type: 'put',
  key,
  value: Buffer.from(value),
})
export const deleting = (key: string): Change => ({ type: 'delete', key })
export const always = (...changes: Change[]): Commit => ({ when: [], changes })
export const forever = (): AbortSignal => new AbortController().signal

const shown = ({ key, value, modRevision }: CoordinationEntry): string =>
  `${key}=${value.toString()}@${modRevision}`

function shownEvent(event: CoordinationEvent): string {
  if (event.kind === 'put') return shown(event.entry)
  return event.kind === 'delete' ? `${event.key} deleted@${event.revision}` : event.kind
}

export function revisionOf(outcome: CommitOutcome): number {
  return outcome.kind === 'committed' ? outcome.revision : expect.fail('conflict')
}

const create = (value: string): Commit => ({
  when: [{ key: '/a', modRevision: 0 }],
  changes: [putting('/a', value)],
})
const check = (modRevision: number): Commit => ({ when: [{ key: '/a', modRevision }], changes: [] })
const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

async function listed(store: Coordination, prefix = ''): Promise<string[]> {
  return (await store.list(prefix)).entries.map(({ key, value }) => `${key}=${value.toString()}`)
}

export async function take(
  watch: AsyncIterable<CoordinationEvent>,
  count: number,
): Promise<string[]> {
  const taken: string[] = []
  for await (const event of watch) {
    taken.push(shownEvent(event))
    if (taken.length === count) break
  }
  return taken
}

/** Every Coordination must pass. `open` gives a new one without entries. */
export function describeCoordination(name: string, open: () => Promise<Coordination>): void {
  describe(`${name}: Coordination contract`, () => {
    describeCommits(open)
    describeLists(open)
    describeWatches(open)
    describeLimits(open)
    describeClosing(open)
  })
}

function describeCommits(open: () => Promise<Coordination>): void {
  it('stores, changes and deletes a value', async () => {
    await using store = await open()
    const first = revisionOf(await store.commit(always(putting('/a', '1'), putting('/b', '1'))))
    const second = revisionOf(await store.commit(always(putting('/a', '2'), deleting('/b'))))

    expect(second).to.be.greaterThan(first)
    expect((await store.list('')).entries.map(shown)).to.deep.equal([`/a=2@${second}`])
    expect(await store.get('/b')).to.equal(undefined)
    expect(await store.get('/a')).to.deep.equal({
      key: '/a',
      value: Buffer.from('2'),
      createRevision: first,
      modRevision: second,
    })
  })

  it('keeps the create revision of a key until the key is deleted', async () => {
    await using store = await open()
    const first = revisionOf(await store.commit(always(putting('/a', '1'), putting('/b', '1'))))
    await store.commit(always(putting('/a', '2')))
    await store.commit(always(putting('/a', '3')))
    await store.commit(always(deleting('/b')))
    const again = revisionOf(await store.commit(always(putting('/b', '2'))))

    const { entries } = await store.list('/')

    const created = entries.map(({ key, createRevision }) => `${key}: ${createRevision}`)
    expect(created).to.deep.equal([`/a: ${first}`, `/b: ${again}`])
  })

  it('compares the create revision where a condition says so', async () => {
    await using store = await open()
    const first = revisionOf(await store.commit(always(putting('/a', '1'))))
    await store.commit(always(putting('/a', '2')))
    const onCreated = (createRevision: number): Commit => ({
      when: [{ key: '/a', createRevision }],
      changes: [putting('/b', `${createRevision}`)],
    })

    expect(await store.commit(onCreated(0))).to.have.property('kind', 'conflict')
    expect(await store.commit(onCreated(first))).to.have.property('kind', 'committed')
    await store.commit(always(deleting('/a')))
    expect(await store.commit(onCreated(first))).to.have.property('kind', 'conflict')
    expect(await store.commit(onCreated(0))).to.have.property('kind', 'committed')
    expect(await listed(store)).to.deep.equal(['/b=0'])
  })

  it('keeps the bytes of a value as they are', async () => {
    await using store = await open()
    const value = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    await store.commit(always({ type: 'put', key: '/a', value }, putting('/empty')))

    expect((await store.get('/a'))?.value.equals(value)).to.equal(true)
    expect((await store.get('/empty'))?.value).to.have.length(0)
  })

  it('shows no event when nothing changes', async () => {
    await using store = await open()
    const revision = revisionOf(await store.commit(always(putting('/a'))))

    const nothing = revisionOf(await store.commit(always()))
    await store.commit(always(deleting('/never')))
    const next = revisionOf(await store.commit(always(putting('/b'))))

    expect(nothing).to.be.within(revision, next - 1)
    expect(await take(store.watch('', revision + 1, forever()), 1)).to.deep.equal([`/b=@${next}`])
  })

  it('creates a key only where it is absent', async () => {
    await using store = await open()
    const first = await store.commit(create('1'))
    const second = await store.commit(create('2'))

    expect(second).to.have.property('kind', 'conflict')
    expect(second.kind === 'conflict' && second.entries.map(shown)).to.deep.equal([
      `/a=1@${revisionOf(first)}`,
    ])
    expect(await listed(store)).to.deep.equal(['/a=1'])
  })

  it('changes nothing unless every condition holds', async () => {
    await using store = await open()
    const revision = revisionOf(await store.commit(always(putting('/a', '1'))))
    const when = [
      { key: '/a', modRevision: revision },
      { key: '/b', modRevision: revision },
    ]

    const outcome = await store.commit({ when, changes: [putting('/a', '2'), putting('/c')] })

    expect(outcome.kind === 'conflict' && outcome.entries.map(shown)).to.deep.equal([
      `/a=1@${revision}`,
    ])
    expect(await listed(store)).to.deep.equal(['/a=1'])
  })

  it('checks conditions alone', async () => {
    await using store = await open()
    const revision = revisionOf(await store.commit(always(putting('/a', '1'))))

    expect(await store.commit(check(revision))).to.have.property('kind', 'committed')
    expect(await store.commit(check(revision + 1))).to.have.property('kind', 'conflict')
  })

  it('lets one of many concurrent conditional commits win each round', async () => {
    await using store = await open()
    for (let round = 1; round <= 5; round += 1) {
      const modRevision = (await store.get('/counter'))?.modRevision ?? 0
      const attempts = Array.from({ length: 20 }, (_, index) =>
        store.commit({
          when: [{ key: '/counter', modRevision }],
          changes: [putting('/counter', `${round}.${index}`)],
        }),
      )
      const outcomes = await Promise.all(attempts)

      expect(outcomes.filter(({ kind }) => kind === 'committed')).to.have.length(1)
    }
  })

  it('agrees with a simple map under random conditional commits', async () => {
    const key = fc.constantFrom('/a', '/b', '/c')
    const change = fc.oneof(
      fc.record({ type: fc.constant('put' as const), key, value: fc.uint8Array({ maxLength: 3 }) }),
      fc.record({ type: fc.constant('delete' as const), key }),
    )
    const attempt = fc.record({
      expectAbsent: fc.option(key, { nil: undefined }),
      changes: fc.uniqueArray(change, { maxLength: 3, selector: (made) => made.key }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 12 }), async (attempts) => {
        await using store = await open()
        const model = new Map<string, string>()
        for (const { expectAbsent, changes } of attempts) {
          const when = expectAbsent === undefined ? [] : [{ key: expectAbsent, modRevision: 0 }]
          const { kind } = await store.commit({ when, changes })
          const applies = expectAbsent === undefined || !model.has(expectAbsent)
          expect(kind).to.equal(applies ? 'committed' : 'conflict')
          for (const made of applies ? changes : []) {
            if (made.type === 'delete') model.delete(made.key)
            else model.set(made.key, Buffer.from(made.value).toString())
          }
        }

        const expected = [...model].map(([k, v]) => `${k}=${v}`).toSorted()
        expect((await listed(store)).toSorted()).to.deep.equal(expected)
      }),
      { numRuns: 30 },
    )
  })
}

function describeLists(open: () => Promise<Coordination>): void {
  it('lists the keys of a prefix in byte order, and no others', async () => {
    await using store = await open()
    const keys = ['/t/b', '/t/a', '/t', '/tt', '/u', '/t/ä', '/t/\u{10ffff}', '/s']
    await store.commit(always(...keys.map((key) => putting(key))))

    const found = await store.list('/t/')

    expect(found.entries.map(({ key }) => key)).to.deep.equal([
      '/t/a',
      '/t/b',
      '/t/ä',
      '/t/\u{10ffff}',
    ])
  })

  it('lists everything under the empty prefix', async () => {
    await using store = await open()
    expect(await listed(store)).to.deep.equal([])
    await store.commit(always(putting('/b'), putting('a')))

    expect(await listed(store)).to.deep.equal(['/b=', 'a='])
  })

  it('lists thousands of entries', async () => {
    await using store = await open()
    for (let group = 0; group < 30; group += 1) {
      const changes = Array.from({ length: 100 }, (_, index) => putting(`/k/${group}/${index}`))
      await store.commit(always(...changes))
    }

    expect((await store.list('/k/')).entries).to.have.length(3000)
  })
}

function describeWatches(open: () => Promise<Coordination>): void {
  it('follows a listing without a gap', async () => {
    await using store = await open()
    await store.commit(always(putting('/a', '1')))
    const { revision } = await store.list('')
    const both = revisionOf(await store.commit(always(putting('/a', '2'), putting('/b', '1'))))
    const taken = take(store.watch('/', revision + 1, forever()), 3)
    const deleted = revisionOf(await store.commit(always(deleting('/b'))))

    const expected = [`/a=2@${both}`, `/b=1@${both}`, `/b deleted@${deleted}`]
    expect(await taken).to.deep.equal(expected)
  })

  it('yields events of the prefix alone, and none for a refused commit or the deletion of an absent key', async () => {
    await using store = await open()
    const { revision } = await store.list('')
    const taken = take(store.watch('/t/', revision + 1, forever()), 2)
    await store.commit(always(putting('/t'), putting('/u/a')))
    await store.commit(always(deleting('/t/never')))
    await store.commit({ when: [{ key: '/t', modRevision: 0 }], changes: [putting('/t/conflict')] })
    const first = revisionOf(await store.commit(always(putting('/t/a', '1'))))
    const second = revisionOf(await store.commit(always(putting('/t/b', '1'))))

    expect(await taken).to.deep.equal([`/t/a=1@${first}`, `/t/b=1@${second}`])
  })

  it('shows the create revision of an overwritten key', async () => {
    await using store = await open()
    const first = revisionOf(await store.commit(always(putting('/a', '1'))))
    const watch = store.watch('', first + 1, forever())[Symbol.asyncIterator]()
    await store.commit(always(putting('/a', '2')))

    const { value: event } = await watch.next()

    expect(event.kind === 'put' && event.entry.createRevision).to.equal(first)
    await watch.return?.()
  })

  it('waits for a revision in the future', async () => {
    await using store = await open()
    const early = revisionOf(await store.commit(always(putting('/a', 'early'))))
    const taken = take(store.watch('', early + 1, forever()), 1)
    const late = revisionOf(await store.commit(always(putting('/a', 'late'))))

    expect(await taken).to.deep.equal([`/a=late@${late}`])
  })

  it('serves several watchers', async () => {
    await using store = await open()
    const { revision } = await store.list('')
    const taken = [1, 2, 3].map(() => take(store.watch('', revision + 1, forever()), 2))
    const first = revisionOf(await store.commit(always(putting('/a'))))
    const second = revisionOf(await store.commit(always(putting('/b'))))

    const expected = [`/a=@${first}`, `/b=@${second}`]
    expect(await Promise.all(taken)).to.deep.equal([expected, expected, expected])
  })

  it('ends silently when the signal aborts', async () => {
    await using store = await open()
    const stop = new AbortController()
    const { revision } = await store.list('')
    const taken = take(store.watch('', revision + 1, stop.signal), 9)
    await store.commit(always(putting('/a')))
    stop.abort()

    expect((await taken).length).to.be.lessThan(2)
    expect(await take(store.watch('', revision + 1, stop.signal), 9)).to.deep.equal([])
  })

  it('sends compacted to a consumer that lags too far, and ends', async () => {
    await using store = await open()
    const { revision } = await store.list('')
    const watch = store.watch('', revision + 1, forever())[Symbol.asyncIterator]()
    const first = watch.next()
    const commits = Math.ceil((WATCH_BUFFER_MAX * 2) / 100)
    for (let round = 0; round < commits; round += 1) {
      const changes = Array.from({ length: 100 }, (_, index) => putting(`/k/${index}`))
      await store.commit(always(...changes))
    }

    expect((await first).done).to.equal(false)
    const rest = await take({ [Symbol.asyncIterator]: () => watch }, WATCH_BUFFER_MAX * 3)
    expect(rest.at(-1)).to.equal('compacted')
    expect(rest.length).to.be.at.most(WATCH_BUFFER_MAX + 1)
  })
}

function describeLimits(open: () => Promise<Coordination>): void {
  const full = Buffer.alloc(VALUE_BYTES_MAX)
  const refused: Readonly<Record<string, Commit>> = {
    'an empty key': always(putting('')),
    'a key that is too long': always(putting('ä'.repeat(KEY_BYTES_MAX / 2) + 'x')),
    'a key with half a character': always(putting('/\ud800')),
    'a bad key in a condition': { when: [{ key: '', modRevision: 0 }], changes: [] },
    'a value that is too large': always(putting('/a', 'x'.repeat(VALUE_BYTES_MAX + 1))),
    'too many bytes': always(
      { type: 'put', key: '/b', value: full },
      { type: 'put', key: '/a', value: full.subarray(0, COMMIT_BYTES_MAX - VALUE_BYTES_MAX) },
    ),
    'too many changes': always(...many(OPS_PER_COMMIT_MAX + 1).map((at) => putting(`/${at}`))),
    'too many conditions': {
      when: many(OPS_PER_COMMIT_MAX + 1).map((at) => ({ key: `/${at}`, modRevision: 0 })),
      changes: [putting('/a')],
    },
    'too many bytes together with the keys of conditions': {
      when: [{ key: '/c', modRevision: 0 }],
      changes: [
        { type: 'put', key: '/a', value: full },
        { type: 'put', key: '/b', value: full.subarray(0, COMMIT_BYTES_MAX - VALUE_BYTES_MAX - 4) },
      ],
    },
    'two changes of one key': always(putting('/b'), putting('/a', '1'), deleting('/a')),
  }

  for (const [name, commit] of Object.entries(refused)) {
    it(`refuses ${name} and changes nothing`, async () => {
      await using store = await open()
      await store.commit(always(putting('/kept')))

      const error = await errorOf(() => store.commit(commit))

      expect(error).to.include({ code: 'INVALID_ARGUMENT' })
      expect(await listed(store)).to.deep.equal(['/kept='])
    })
  }

  it('takes what just fits', async () => {
    await using store = await open()
    const key = 'ä'.repeat(KEY_BYTES_MAX / 2)
    await store.commit(always({ type: 'put', key, value: full }))
    await store.commit(always(...many(OPS_PER_COMMIT_MAX).map((at) => putting(`/${at}`))))

    expect((await store.get(key))?.value.length).to.equal(VALUE_BYTES_MAX)
    expect((await store.list('/')).entries).to.have.length(OPS_PER_COMMIT_MAX)
  })

  it('takes a commit with all that the limits allow together', async () => {
    await using store = await open()
    const keys = many(OPS_PER_COMMIT_MAX).map((at) => `/${at}`.padEnd(KEY_BYTES_MAX, 'x'))
    const bytesPerValue = Math.floor(COMMIT_BYTES_MAX / OPS_PER_COMMIT_MAX) - 2 * KEY_BYTES_MAX
    const value = Buffer.alloc(bytesPerValue)
    const commit: Commit = {
      when: keys.map((key) => ({ key, modRevision: 0 })),
      changes: keys.map((key) => ({ type: 'put', key, value })),
    }

    expect(await store.commit(commit)).to.have.property('kind', 'committed')
    const again = await store.commit(commit)
    expect(again.kind === 'conflict' && again.entries).to.have.length(OPS_PER_COMMIT_MAX)
    expect((await store.list('/')).entries).to.have.length(OPS_PER_COMMIT_MAX)
  })
}

function describeClosing(open: () => Promise<Coordination>): void {
  const methods: Record<
    Exclude<keyof Coordination, 'scope' | 'close' | symbol>,
    (store: Coordination) => unknown
  > = {
    get: (store) => store.get('/a'),
    list: (store) => store.list(''),
    commit: (store) => store.commit(always(putting('/a'))),
    watch: (store) => take(store.watch('', 1, forever()), 1),
    grantLease: (store) => store.grantLease(5),
  }

  for (const [name, call] of Object.entries(methods)) {
    it(`refuses ${name} after close`, async () => {
      const store = await open()
      await store.close()

      expect(await errorOf(() => call(store))).to.include({ code: 'UNAVAILABLE' })
    })
  }

  it('fails an open watch and may be closed twice', async () => {
    const store = await open()
    const { revision } = await store.list('')
    const taken = errorOf(() => take(store.watch('', revision + 1, forever()), 1))

    await Promise.all([store.close(), store.close()])

    expect(await taken).to.include({ code: 'UNAVAILABLE' })
  })
}
