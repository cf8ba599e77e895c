// What other nodes send is checked like any input: nothing but a refusal may come of bytes that no caller
// writes.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../../lib/assert.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import type { PeerLink } from '../../../../../node/peer/peer.ts'
import { OPERATIONS } from '../../../../../node/shard/remote/shard-calls.ts'
import {
  readAnswerMessage,
  writeCallHead,
} from '../../../../../node/shard/remote/wire/call-head.ts'
import { WireReader } from '../../../../../node/shard/remote/wire/wire-reader.ts'
import { WireWriter } from '../../../../../node/shard/remote/wire/wire-writer.ts'
import { RemoteBench } from '../../../../support/worlds/remote-bench.ts'
import { SHARD_ID } from '../../../../support/worlds/remote-world.ts'
import { openingMessages, type UploadName } from '../../../../support/worlds/shard-call-samples.ts'

const HEAD_BYTES = 22
const STREAMS = new Set([
  'readLong',
  'scan',
  'scanNow',
  'resolve',
  'search',
  'readAt',
  'scanAt',
  'searchHere',
  'searchFrom',
  'artifacts',
])
const UPLOADS: Readonly<Record<UploadName, 'write' | 'prepare'>> = {
  writeLong: 'write',
  prepareLong: 'prepare',
}

/** A call, and an argument as its caller writes it, without the head. */
interface Sample {
  readonly name: string
  readonly operation: number
  readonly argument: Buffer
}

const SAMPLES: readonly Sample[] = Object.entries(OPERATIONS).map(([name, operation]) => {
  const opening = new Map(Object.entries(UPLOADS)).get(name) ?? name
  const message = new Map(Object.entries(openingMessages())).get(opening)
  return { name, operation, argument: must(message, opening).subarray(HEAD_BYTES) }
})

function headOf({ hybridClock }: RemoteBench): Buffer {
  const head = { shard: SHARD_ID, epoch: 1, time: hybridClock.readPoint() }
  return writeCallHead(new WireWriter(), head).joined()
}

interface Message {
  readonly head: Buffer
  readonly argument: Buffer
}

/** The code with which a node refuses the message; 'answer' if it does not. */
async function outcomeOf(link: PeerLink, to: Sample, message: Message): Promise<string> {
  const { operation, name } = to
  const body = Buffer.concat([message.head, message.argument])
  try {
    if (name === 'hurry') return link.send({ operation, body }) ? 'sent' : 'not sent'
    const last = readAnswerMessage(new WireReader(await lastAnswerOf(link, to, message)))
    return last.kind === 'refusal' ? last.refusal.code : 'answer'
  } catch (error) {
    return isServiceError(error) ? `failure ${error.code}` : String(error)
  }
}

async function lastAnswerOf(
  link: PeerLink,
  { name, operation }: Sample,
  message: Message,
): Promise<Buffer> {
  const body = Buffer.concat([message.head, message.argument])
  if (name in UPLOADS) return upload(link, operation, message)
  if (!STREAMS.has(name)) return link.call({ operation, body })
  const answers = await Array.fromAsync(link.stream({ operation, body }))
  return must(answers.at(-1), 'an answer')
}

function upload(link: PeerLink, operation: number, { head, argument }: Message): Promise<Buffer> {
  const length = new WireWriter().u32(argument.length).joined()
  async function* parts(): AsyncGenerator<Uint8Array> {
    if (argument.length > 0) yield argument
  }
  return link.upload({ operation, body: Buffer.concat([head, length]) }, parts(), { lane: 'bulk' })
}

/** Ways to spoil an argument so that it cannot be one. */
const spoilt = fc.oneof(
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
  fc.record({
    kind: fc.constant('longer' as const),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  }),
  fc.record({
    kind: fc.constant('changed' as const),
    at: fc.nat(),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
  }),
  fc.record({ kind: fc.constant('other' as const), bytes: fc.uint8Array({ maxLength: 200 }) }),
  fc.record({ kind: fc.constant('huge' as const), at: fc.nat() }),
)

type Spoilt = typeof spoilt extends fc.Arbitrary<infer How> ? How : never

function spoil(argument: Buffer, how: Spoilt): Buffer {
  const bytes = Buffer.from(argument)
  if (how.kind === 'longer') return Buffer.concat([bytes, how.bytes])
  if (how.kind === 'other') return Buffer.from(how.bytes)
  const at = how.at % Math.max(1, bytes.length)
  if (how.kind === 'cut') return bytes.subarray(0, at)
  if (how.kind === 'huge') return bytes.fill(0xff, at)
  bytes.set(how.bytes.subarray(0, bytes.length - at), at)
  return bytes
}

for (const sample of SAMPLES) {
  const { name, argument: sound } = sample
  describe(`a hostile message of the call ${name}`, () => {
    it('is refused, and changes nothing', async () => {
      await using bench = await RemoteBench.open()
      const link = await linkTo(bench)

      await fc.assert(
        fc.asyncProperty(spoilt, async (how) => {
          const argument = spoil(sound, how)
          fc.pre(!argument.equals(sound))
          bench.watched.calls.length = 0
          const message = { head: headOf(bench), argument }
          const outcome = await bench.world.settled(outcomeOf(link, sample, message))

          expect(bench.world.faults).to.deep.equal([])
          if (bench.watched.calls.length === 0) expect(outcome).to.be.oneOf(REFUSALS)
          else expect(how.kind).to.be.oneOf(['changed', 'huge', 'other']) // it is an argument, of another call
        }),
        { numRuns: 60 },
      )
      await bench.connect() // the node still serves
    })

    it('is refused if its head is cut short, or names no shard of the node', async () => {
      await using bench = await RemoteBench.open()
      const link = await linkTo(bench)
      const head = headOf(bench)
      const stranger = Buffer.from(head).fill(0xee, 0, 8)
      bench.found.a = { kind: 'not-here', leader: undefined, epoch: 0 }

      const cut = await bench.world.settled(
        outcomeOf(link, sample, { head: head.subarray(0, 10), argument: Buffer.alloc(0) }),
      )
      const unknown = await bench.world.settled(
        outcomeOf(link, sample, { head: stranger, argument: sound }),
      )

      expect([cut, unknown]).to.deep.equal(
        name === 'hurry' ? ['sent', 'sent'] : ['INVALID_ARGUMENT', 'NOT_LEADER'],
      )
      expect(bench.watched.calls).to.deep.equal([])
    })
  })
}

/** `sent`: a one-way message is refused without a word. */
const REFUSALS = ['INVALID_ARGUMENT', 'sent']

async function linkTo(bench: RemoteBench): Promise<PeerLink> {
  await bench.connect()
  const place = await bench.world.places.leaderOf()
  if (place === undefined) throw new RangeError('no leader')
  return place.link
}
