import { expect } from 'chai'
import { ServiceError } from '../../lib/errors.ts'
import {
  GROUP_PROPOSALS_MAX,
  GroupCommit,
  QUEUED_BYTES_MAX,
  QUEUED_PROPOSALS_MAX,
  type AppliedGroup,
  type GroupTarget,
} from '../../node/shard/group-commit.ts'
import { errorOf } from '../harness/error-of.ts'

/** Echoes its commands; "!" refuses, "." ends a group. Keeps what it was asked to do. */
class EchoTarget implements GroupTarget<string, string> {
  readonly groups: string[][] = []
  readonly journal: string[] = []
  writeError: Error | undefined
  recoverError: Error | undefined

  endsGroup(command: string): boolean {
    return command.startsWith('.')
  }

  isLazy(): boolean {
    return false
  }

  isStale(): boolean {
    return false
  }

  beginGroup(): AppliedGroup<string, string> {
    const group: string[] = []
    this.groups.push(group)
    return {
      apply: (command) => {
        if (command.startsWith('!')) throw new ServiceError('INVALID_ARGUMENT', command)
        group.push(command)
        this.journal.push(`apply ${command}`)
        return `done ${command}`
      },
      write: async () => {
        await Promise.resolve()
        if (this.writeError !== undefined) throw this.writeError
        this.journal.push('write')
      },
      publish: () => this.journal.push('publish'),
    }
  }

  async recover(): Promise<void> {
    this.journal.push('recover')
    await Promise.resolve()
    if (this.recoverError !== undefined) throw this.recoverError
  }
}

describe('GroupCommit', () => {
  it('puts the proposals of one turn into one group, in their order', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)

    const answers = await Promise.all(['a', 'b', 'c'].map((command) => log.propose(command, 1)))

    expect(answers).to.deep.equal(['done a', 'done b', 'done c'])
    expect(target.groups).to.deep.equal([['a', 'b', 'c']])
    expect(target.journal.slice(-2)).to.deep.equal(['write', 'publish'])
  })

  it('refuses one command without the others', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)
    const before = log.propose('a', 1)
    const refused = errorOf(() => log.propose('!', 1))
    const after = log.propose('b', 1)

    expect(await refused).to.include({ code: 'INVALID_ARGUMENT' })
    expect([await before, await after]).to.deep.equal(['done a', 'done b'])
    expect(target.journal).to.not.include('recover')
  })

  it('lets nothing but their like follow commands that end a group', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)

    await Promise.all(['a', '.b', '.c', 'd'].map((command) => log.propose(command, 1)))

    expect(target.groups).to.deep.equal([['a', '.b', '.c'], ['d']])
  })

  it('keeps groups within their size', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)
    const commands = Array.from({ length: GROUP_PROPOSALS_MAX + 1 }, (_, i) => `${i}`)

    await Promise.all(commands.map((command) => log.propose(command, 1)))

    expect(target.groups.map(({ length }) => length)).to.deep.equal([GROUP_PROPOSALS_MAX, 1])
  })

  it('fails the whole group with its write, and recovers before it applies again (G3)', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)
    target.writeError = new ServiceError('DISK_FULL', 'full')
    const failed = await Promise.all(['a', 'b'].map((one) => errorOf(() => log.propose(one, 1))))
    target.writeError = undefined

    await log.propose('c', 1)

    for (const error of failed) expect(error).to.include({ code: 'DISK_FULL' })
    const behind = target.journal.slice(target.journal.indexOf('recover'))
    expect(behind).to.deep.equal(['recover', 'apply c', 'write', 'publish'])
  })

  it('has recovered when `settled` resolves after a failed write', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)
    target.writeError = new ServiceError('DISK_FULL', 'full')
    await errorOf(() => log.propose('a', 1))

    await log.settled()

    expect(target.journal).to.deep.equal(['apply a', 'recover'])
  })

  it('refuses proposals while the memory cannot be rebuilt, and tries again for the next', async () => {
    const target = new EchoTarget()
    const log = new GroupCommit(target)
    target.writeError = new ServiceError('DISK_FULL', 'full')
    await errorOf(() => log.propose('a', 1))
    target.writeError = undefined
    target.recoverError = new ServiceError('CORRUPTION', 'unreadable')

    const refused = await errorOf(() => log.propose('b', 1))
    target.recoverError = undefined

    expect(refused).to.include({ code: 'CORRUPTION' })
    expect(await log.propose('c', 1)).to.equal('done c')
  })

  it('is OVERLOADED beyond its number of proposals', async () => {
    const log = new GroupCommit(new EchoTarget())
    const queued = Array.from({ length: QUEUED_PROPOSALS_MAX }, () => log.propose('a', 1))

    expect(await errorOf(() => log.propose('b', 1))).to.include({ code: 'OVERLOADED' })
    await Promise.all(queued)
    expect(await log.propose('c', 1)).to.equal('done c')
  })

  it('is OVERLOADED beyond its bytes, but takes any single proposal', async () => {
    const log = new GroupCommit(new EchoTarget())
    const large = log.propose('a', QUEUED_BYTES_MAX * 2)

    expect(await errorOf(() => log.propose('b', 1))).to.include({ code: 'OVERLOADED' })
    expect(await large).to.equal('done a')
  })

  it('answers what was proposed before it closes, and refuses the rest', async () => {
    const log = new GroupCommit(new EchoTarget())
    const running = log.propose('a', 1)

    await log.close()

    expect(await running).to.equal('done a')
    expect(await errorOf(() => log.propose('b', 1))).to.include({ code: 'UNAVAILABLE' })
  })
})
