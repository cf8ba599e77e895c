import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { ServiceError } from '../../../../../lib/errors.ts'
import type { LaneTerms } from '../../../../../node/peer/peer-limits.ts'
import { OutboundStream } from '../../../../../node/peer/streams/outbound-stream.ts'
import { SendQueue } from '../../../../../node/peer/streams/send-queue.ts'
import {
  decodeFailure,
  decodeFrames,
  decodeOpening,
  encodeFailure,
  encodeFrame,
  encodeOpening,
  encodeU32,
  FRAME,
  NOTHING_HAPPENED,
} from '../../../../../node/peer/wire/frame-codec.ts'
import type { Frame } from '../../../../../node/peer/wire/frame-codec.ts'
import { decodeHandshake, encodeHandshake } from '../../../../../node/peer/wire/handshake-codec.ts'
import type { HandshakeMessage } from '../../../../../node/peer/wire/handshake-codec.ts'
import {
  keyedCheck,
  plainCheck,
  RecordOpener,
  RecordSealer,
} from '../../../../../node/peer/wire/record-codec.ts'
import { deriveKeys, InPlaceHmac } from '../../../../../node/peer/wire/session-keys.ts'
import { errorOf } from '../../../../support/error-of.ts'

const golden: Record<string, string> = JSON.parse(
  readFileSync(new URL('../../../../golden/peer-protocol.json', import.meta.url), 'utf8'),
)

const terms: LaneTerms = {
  streamsMax: 512,
  windowBytes: 65_536,
  messageBytesMax: 33_554_368,
  silenceMs: 4000,
}
const messages: Record<HandshakeMessage['kind'], HandshakeMessage> = {
  hello: {
    kind: 'hello',
    versions: { min: 1, max: 2 },
    lane: 'bulk',
    terms,
    nonce: Buffer.alloc(32, 0xaa),
    cluster: 'library',
    from: 'node-a',
    to: 'node-b',
  },
  challenge: {
    kind: 'challenge',
    version: 1,
    terms,
    nonce: Buffer.alloc(32, 0xbb),
    from: 'node-b',
  },
  proof: { kind: 'proof', proof: Buffer.alloc(32, 1) },
  welcome: { kind: 'welcome', proof: Buffer.alloc(32, 2) },
  refusal: { kind: 'refusal', reason: 'wrong cluster' },
}

const transcript = [encodeHandshake(messages.hello), encodeHandshake(messages.challenge)]
const secret = Buffer.alloc(32, 7)
const keys = deriveKeys({ secret, exporter: undefined, transcript })
const withTls = deriveKeys({ secret: Buffer.alloc(0), exporter: Buffer.alloc(32, 3), transcript })

/** A call, the end of an upload and a credit, as one record has them. */
function framesOfRecord(): Buffer {
  const queue = new SendQueue(() => 5)
  const call = new OutboundStream({ urgent: false, credit: 100 })
  call.push({
    type: FRAME.open,
    code: 258,
    body: Buffer.alloc(40, 0xcc),
    opening: () => encodeOpening({ kind: 'upload', timeoutMs: 1234.5 }),
  })
  queue.addShort(encodeFrame({ type: FRAME.credit, stream: 4, body: encodeU32(70_000) }))
  queue.wake(call)
  const plan = queue.plan()!
  const out = Buffer.alloc(plan.length)
  plan.write(out)
  return out
}

function failureFrame(): Buffer {
  const body = encodeFailure({ code: 'RANGE_MOVED', message: 'ä' })
  return encodeFrame({ type: FRAME.failure, flags: NOTHING_HAPPENED, stream: 5, body })
}

function recordsOf(sealer: RecordSealer): Buffer {
  const frames = failureFrame()
  const seal = (): Buffer => sealer.seal(frames.length, (out) => out.set(frames))
  return Buffer.concat([seal(), seal()])
}

const bytes: Record<string, Buffer> = {
  ...Object.fromEntries(
    Object.entries(messages).map(([kind, message]) => [kind, encodeHandshake(message)]),
  ),
  'proof of the dialer': keys.dialerProof,
  'proof of the acceptor': keys.acceptorProof,
  'key to the acceptor': keys.toAcceptor,
  'key to the dialer': keys.toDialer,
  'proof of the dialer with TLS': withTls.dialerProof,
  'frames of a record': framesOfRecord(),
  'a failure': failureFrame(),
  'two records with a key': recordsOf(new RecordSealer(keyedCheck(keys.toAcceptor))),
  'two records with TLS': recordsOf(new RecordSealer(plainCheck())),
}

describe('the peer protocol', () => {
  it('has golden bytes for each of its parts', () => {
    expect(Object.keys(golden)).to.have.members(Object.keys(bytes))
  })

  for (const [name, found] of Object.entries(bytes)) {
    it(`encodes ${name} as it always did`, () => {
      expect(found.toString('hex')).to.equal(golden[name])
    })
  }

  for (const [kind, message] of Object.entries(messages)) {
    it(`reads a ${kind} back, also with fields of a later version`, () => {
      const framed = Buffer.from(golden[kind]!, 'hex')
      const later = Buffer.concat([framed.subarray(4), Buffer.from('more')])

      expect(framed.readUInt32BE()).to.equal(framed.length - 4)
      expect(decodeHandshake(framed.subarray(4))).to.deep.equal(message)
      expect(decodeHandshake(later)).to.deep.equal(message)
    })

    it(`refuses a ${kind} that is cut off at any byte`, async () => {
      const whole = encodeHandshake(message).subarray(4)
      for (let length = 0; length < whole.length; length++) {
        const error = await errorOf(() => decodeHandshake(whole.subarray(0, length)))
        expect(error).to.be.instanceOf(ServiceError)
      }
    })
  }

  it('reads frames back', () => {
    const found: Frame[] = []
    decodeFrames(framesOfRecord(), (frame) => found.push(frame))

    expect(found.map(({ type, flags, code, stream }) => [type, flags, code, stream])).to.deep.equal(
      [
        [FRAME.credit, 0, 0, 4],
        [FRAME.open, 1, 258, 5],
      ],
    )
    // The part of a millisecond counts: a handler never has less time than its caller waits.
    expect(decodeOpening(found[1]!.body)).to.deep.equal({ kind: 'upload', timeoutMs: 1235 })
  })

  it('reads a failure back, and knows that it does not know a code', () => {
    const body = failureFrame().subarray(12)

    expect(decodeFailure(body)).to.deep.equal({ code: 'RANGE_MOVED', message: 'ä' })
    expect(decodeFailure(Buffer.from('NEW_CODE\0why'))).to.deep.equal({
      code: 'INTERNAL',
      message: 'NEW_CODE: why',
    })
  })

  for (const check of [keyedCheck(keys.toAcceptor), plainCheck()]) {
    const kind = check.bytes === 16 ? 'with a key' : 'with TLS'
    it(`opens records ${kind} that come in pieces of any size`, () => {
      const sent = recordsOf(new RecordSealer(check))
      for (let size = 1; size < sent.length; size += 7) {
        const opener = new RecordOpener(check)
        const found: Buffer[] = []
        for (let at = 0; at < sent.length; at += size) {
          opener.push(sent.subarray(at, at + size), (frames) => found.push(Buffer.from(frames)))
        }
        expect(found).to.deep.equal([failureFrame(), failureFrame()])
      }
    })

    it(`refuses records ${kind} that were changed, repeated, left out or moved (PR1)`, async () => {
      const sent = recordsOf(new RecordSealer(check))
      const half = sent.length / 2
      const [first, second] = [sent.subarray(0, half), sent.subarray(half)]
      const changed = Array.from({ length: half - 4 }, (_, at) => {
        const copy = Buffer.from(first)
        copy[at + 4] = copy[at + 4]! ^ 1
        return copy
      })
      const shorter = Buffer.from(first)
      shorter.writeUInt32BE(half - 5)
      for (const wrong of [...changed, shorter, second, Buffer.concat([first, first])]) {
        const opener = new RecordOpener(check)
        const error = await errorOf(() => opener.push(wrong, () => undefined))
        expect(error).to.include({ code: 'CORRUPTION' })
      }
    })
  }

  it('believes no length above the largest record (PR2)', async () => {
    for (const length of [0, 15, 16, 256 * 1024 + 17, 0xffff_ffff]) {
      const opener = new RecordOpener(keyedCheck(keys.toAcceptor))
      const error = await errorOf(() => opener.push(encodeU32(length), () => undefined))
      expect(error).to.include({ code: 'CORRUPTION' })
    }
  })

  it('computes HMAC-SHA256 in place, and leaves no key behind', () => {
    for (const length of [0, 1, 55, 64, 1000]) {
      const message = Buffer.alloc(length, length)
      const buffer = Buffer.concat([Buffer.alloc(InPlaceHmac.headroom, 9), message])

      const found = new InPlaceHmac(keys.toDialer).digest(buffer)

      const expected = createHmac('sha256', keys.toDialer).update(message).digest()
      expect(found.equals(expected)).to.equal(true)
      expect(buffer.subarray(0, InPlaceHmac.headroom).every((byte) => byte === 0)).to.equal(true)
    }
  })

  it('derives keys that differ with any difference of the ground', () => {
    const grounds = [
      { secret, exporter: undefined, transcript },
      { secret: Buffer.alloc(32, 8), exporter: undefined, transcript },
      { secret, exporter: Buffer.alloc(32, 3), transcript },
      { secret, exporter: Buffer.alloc(32, 4), transcript },
      { secret, exporter: undefined, transcript: transcript.toReversed() },
    ]
    const all = grounds.flatMap((ground) => Object.values(deriveKeys(ground)))

    expect(new Set(all.map((key: Buffer) => key.toString('hex'))).size).to.equal(20)
  })
})
