import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { isSliced, runAtOnce } from '../../../../../../lib/sliced.ts'
import { OPERATIONS, SHARD_CALLS } from '../../../../../../node/shard/remote/shard-calls.ts'
import {
  readAnswerMessage,
  readCallHead,
} from '../../../../../../node/shard/remote/wire/call-head.ts'
import { readAsked } from '../../../../../../node/shard/remote/wire/index-codec.ts'
import { readRows } from '../../../../../../node/shard/remote/wire/rows-codec.ts'
import { WireReader } from '../../../../../../node/shard/remote/wire/wire-reader.ts'
import { INDEX_STATUS } from '../../../../../support/fakes/watched-shard.ts'
import { SHARD_ID } from '../../../../../support/worlds/remote-world.ts'
import {
  answerMessages,
  openingMessages,
  PREPARE,
  REQUEST,
  WRITE,
} from '../../../../../support/worlds/shard-call-samples.ts'

const golden: Record<'operations' | 'openings' | 'answers', unknown> = JSON.parse(
  readFileSync(new URL('../../../../../golden/shard-calls.json', import.meta.url), 'utf8'),
)
const hexOf = (messages: Record<string, Buffer>) =>
  Object.fromEntries(Object.entries(messages).map(([name, bytes]) => [name, bytes.toString('hex')]))

function openingOf(name: keyof ReturnType<typeof openingMessages>): WireReader {
  const from = new WireReader(openingMessages()[name])
  readCallHead(from)
  return from
}

function answerOf(name: string): WireReader {
  const from = new WireReader(answerMessages()[name] ?? Buffer.alloc(0))
  readAnswerMessage(from)
  return from
}

function argumentOf(name: keyof typeof SHARD_CALLS): unknown {
  const from = openingOf(name)
  const found: unknown = SHARD_CALLS[name].read(from)
  const argument = isSliced(found) ? runAtOnce(found) : found
  from.end()
  return argument
}

describe('messages of shard calls', () => {
  it('have the numbers and bytes of docs/reference/formats/shard-calls.md', () => {
    expect(OPERATIONS).to.deep.equal(golden.operations)
    expect(hexOf(openingMessages())).to.deep.equal(golden.openings)
    expect(hexOf(answerMessages())).to.deep.equal(golden.answers)
  })

  it('begin with the shard, the epoch and the time of the caller', () => {
    const head = readCallHead(new WireReader(openingMessages().stats))

    expect(head).to.deep.equal({ shard: SHARD_ID, epoch: 5, time: 0x1122_3344_5566_0007n })
  })

  it('carry commands whole', () => {
    expect(argumentOf('write')).to.deep.equal(WRITE)
    expect(argumentOf('prepare')).to.deep.equal(PREPARE)
  })

  it('carry a question to an index whole', () => {
    const asked = { kind: 'text', question: 'statistics', request: REQUEST }

    expect(runAtOnce(readAsked(openingOf('search')))).to.deep.equal({ index: 'text', asked })
  })

  it('carry answers whole', () => {
    const { read, write, indexStatus, state } = SHARD_CALLS
    expect(read.readAnswer(answerOf('an absent document'))).to.deep.equal({ kind: 'absent' })
    expect(write.readAnswer(answerOf('a held key'))).to.have.nested.property(
      'holder.anchor.tableId',
      'tä',
    )
    expect(indexStatus.readAnswer(answerOf('the state of an index'))).to.deep.equal(INDEX_STATUS)
    const reason = 'disk full'
    expect(state.readAnswer(answerOf('read only'))).to.deep.equal({
      kind: 'read_only',
      reason,
      documentsBehind: 0,
    })
    expect(readRows(answerOf('rows of a scan'))).to.have.length(2)
  })

  it('tell refusals with what is known of the leader', () => {
    const from = new WireReader(
      answerMessages()['a refusal that names the leader'] ?? Buffer.alloc(0),
    )
    const message = readAnswerMessage(from)

    const refusal = message.kind === 'refusal' ? message.refusal : undefined
    expect(refusal).to.include({ code: 'NOT_LEADER', message: 'not hére', happened: 'nothing' })
    expect(refusal?.leader).to.deep.equal({ node: 'node-b', epoch: 7 })
  })

  it('tell a code of a later version as INTERNAL', () => {
    const bytes = answerMessages()['a refusal with an unknown outcome'] ?? Buffer.alloc(0)
    bytes.write('SOMETHINGEL', bytes.indexOf('UNAVAILABLE'))
    const message = readAnswerMessage(new WireReader(bytes))

    const refusal = message.kind === 'refusal' ? message.refusal : undefined
    expect(refusal).to.include({ code: 'INTERNAL', message: 'SOMETHINGEL: lost' })
  })
})
