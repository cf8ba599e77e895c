import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { NodeIdentity } from '../../../../node/cluster/node-identity.ts'
import { errorOf } from '../../../support/error-of.ts'

const GOLDEN: Readonly<Record<string, string>> = JSON.parse(
  readFileSync('test/golden/node-identity.json', 'utf8'),
)

describe('NodeIdentity', () => {
  let directory = ''
  const file = (): string => path.join(directory, 'node.json')
  const open = (): Promise<NodeIdentity> => NodeIdentity.open({ path: directory, id: 'n1' })
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-identity-'))
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  it('begins its first life over a new directory, which lacks nothing', async () => {
    const identity = await open()

    expect(identity).to.include({ nodeId: 'n1', incarnation: 1, wholeSince: 1, wasClean: true })
    expect(identity.cluster).to.equal(undefined)
    expect(await readFile(file(), 'utf8')).to.equal(GOLDEN['new'])
  })

  it('counts its lives, and tells a clean end from a crash', async () => {
    const first = await open()
    await first.markClean()
    const second = await open()
    const third = await open()

    expect(second).to.include({ incarnation: 2, wasClean: true })
    expect(third).to.include({ incarnation: 3, wasClean: false })
  })

  it('remembers its damage and its cluster', async () => {
    await open()
    const second = await open()
    await second.markDamaged(second.incarnation)
    const third = await open()
    await third.joined({ name: 'library', id: 'c1' })
    await third.markClean()

    expect(await readFile(file(), 'utf8')).to.equal(GOLDEN['joined'])
    const fourth = await open()
    expect(fourth).to.include({ incarnation: 4, wholeSince: 2 })
    expect(fourth.cluster).to.deep.equal({ name: 'library', id: 'c1' })
  })

  it('never becomes whole for an earlier life than it was', async () => {
    const identity = await open()
    await identity.markDamaged(5)
    await identity.markDamaged(3)

    expect(identity.wholeSince).to.equal(5)
  })

  it('continues after lives that only the cluster remembers, without what they had', async () => {
    const identity = await open()
    await identity.continueAfter(7)

    expect(identity).to.include({ incarnation: 8, wholeSince: 8 })
    expect(await open()).to.include({ incarnation: 9, wholeSince: 8 })
  })

  it('makes changes that are asked for at once one after the other', async () => {
    const identity = await open()
    await Promise.all([
      identity.markDamaged(2),
      identity.joined({ name: 'library', id: 'c1' }),
      identity.markClean(),
    ])

    const next = await open()
    expect(next).to.include({ wholeSince: 2, wasClean: true })
    expect(next.cluster?.id).to.equal('c1')
  })

  it('has changed nothing when it could not write', async () => {
    const identity = await open()
    await mkdir(`${file()}.new`) // nobody can write a file of that name now

    const error = await errorOf(() => identity.markDamaged(2))
    await rm(`${file()}.new`, { recursive: true })

    expect(error).to.have.property('code', 'UNAVAILABLE')
    expect(identity.wholeSince).to.equal(1)
    expect((await open()).wholeSince).to.equal(1)
  })

  it('refuses a damaged file, because its life could pass for an earlier one', async () => {
    const damaged = ['', '[]', '{"format":"quarry-node","version":1}', '{"format":"other"}']
    const whole = GOLDEN['joined'] ?? ''
    for (const text of [...damaged, whole.replace('3', '-3.5'), whole.replace('"c1"', '1')]) {
      await writeFile(file(), text)
      expect(await errorOf(open), text).to.have.property('code', 'CORRUPTION')
    }
  })

  it('finds every flipped bit, of numbers as well', async () => {
    const identity = await open()
    await identity.joined({ name: 'library', id: 'c1' })
    await identity.markDamaged(5)
    const whole = await readFile(file())
    const taken: string[] = []
    for (let bit = 0; bit < (whole.length - 1) * 8; bit++) {
      const flipped = Buffer.from(whole)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      await writeFile(file(), flipped)
      const isTaken = await open().then(
        () => true,
        () => false,
      )
      if (isTaken) taken.push(flipped.toString())
    }

    // Without the name of the checksum, the rest is as it was.
    expect(taken.every((text) => text.includes('"wholeSince":5'))).to.equal(true)
    expect(taken.length).to.be.at.most('"crc"'.length * 8)
  })

  it('refuses a file of a later program', async () => {
    await writeFile(file(), (GOLDEN['joined'] ?? '').replace('"version":1', '"version":2'))

    const error = await errorOf(open)

    expect(error).to.have.property('code', 'INVALID_ARGUMENT')
    expect(error).to.have.property('message').that.contains('start a newer version')
  })
})
