import { expect } from 'chai'
import { parsePlainRequest } from '../../../../lib/http/plain-request.ts'

const GET = 'GET /a/b?c HTTP/1.1\r\nHost: h\r\n\r\n'
const POST =
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'

const parsed = (text: string) => parsePlainRequest(Buffer.from(text, 'latin1'))
const withHeader = (line: string): string => GET.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`)
const postWith = (from: string, to: string): string => POST.replace(from, to)

const declined: Readonly<Record<string, string>> = {
  'no bytes': '',
  'a part of a head': GET.slice(0, -1),
  'a part of a body': POST.slice(0, -1),
  'a body that is longer than it says': `${POST} `,
  'two requests': GET + GET,
  'a body of a GET': `${GET}x`,
  'a length of a GET': withHeader('Content-Length: 0'),
  'a POST without a length': postWith('Content-Length: 2\r\n', ''),
  'another method': GET.replace('GET', 'PUT'),
  'small letters in a method': GET.replace('GET', 'get'),
  'another version': GET.replace('1.1', '1.0'),
  'no version': GET.replace(' HTTP/1.1', ''),
  'a whole URL': GET.replace('/a/b', 'http://h/a/b'),
  'a space in the target': GET.replace('/a/b', '/a b'),
  'two spaces': GET.replace('GET ', 'GET  '),
  'a letter beyond ASCII in the target': GET.replace('/a', '/\u{e4}'),
  'an empty line first': `\r\n${GET}`,
  'no host': GET.replace('Host: h\r\n', ''),
  'two hosts': withHeader('host: h'),
  'two lengths': postWith('{}', '').replace('\r\n\r\n', '\r\ncontent-length: 2\r\n\r\n{}'),
  'a length with a sign': postWith(': 2', ': +2'),
  'a length with a leading zero': postWith(': 2', ': 02'),
  'a list of lengths': postWith(': 2', ': 2, 2'),
  'a length in hexadecimal': postWith(': 2', ': 0x2'),
  'a transfer encoding': withHeader('Transfer-Encoding: chunked'),
  'a transfer encoding beside a length': postWith('Host', 'Transfer-Encoding: chunked\r\nHost'),
  'a content encoding': postWith('Host', 'Content-Encoding: gzip\r\nHost'),
  'another content type': postWith('application/json', 'text/plain'),
  'a content type with a charset': postWith('/json', '/json; charset=utf-8'),
  'a connection that is to close': withHeader('Connection: close'),
  'an upgrade': withHeader('Connection: upgrade'),
  'an expectation': withHeader('Expect: 100-continue'),
  'an origin': withHeader('Origin: http://h'),
  'an idempotency key': withHeader('Idempotency-Key: k'),
  'a header that it does not know': withHeader('X-Other: 1'),
  'a header that is the name of an object member': withHeader('constructor: 1'),
  'a folded line': withHeader('Accept: a\r\n b'),
  'a space before a colon': withHeader('Accept : a'),
  'a line without a colon': withHeader('Accept'),
  'an empty value': withHeader('Accept:'),
  'a bare line feed': GET.replace('\r\nHost', '\nHost'),
  'a bare line feed in a value': withHeader('Accept: a\nTransfer-Encoding: chunked'),
  'a bare carriage return in a value': withHeader('Accept: a\rb'),
  'a NUL in a value': withHeader('Accept: a\0b'),
  'a byte beyond ASCII in a value': withHeader('Accept: \u{e4}'),
  'a head of more than 16 KiB': withHeader(`Accept: ${'a'.repeat(16 * 1024)}`),
}

describe('a plain request', () => {
  it('is a GET with its target and its headers as they came', () => {
    expect(parsed(GET)).to.deep.equal({
      method: 'GET',
      target: '/a/b?c',
      rawHeaders: ['Host', 'h'],
      body: Buffer.alloc(0),
    })
  })

  it('is a POST with all of its body', () => {
    const { method, body } = parsed(POST) ?? {}

    expect([method, body?.toString()]).to.deep.equal(['POST', '{}'])
  })

  it('has any bytes in its body, such as those that end a head', () => {
    const request = POST.replace(': 2', ': 8').replace('{}', '\r\n\r\n\u{ff}\0{}')

    expect(parsed(request)?.body.toString('latin1')).to.equal('\r\n\r\n\u{ff}\0{}')
  })

  it('has the headers of usual clients, whatever their letters and spaces', () => {
    const lines = [
      'USER-AGENT:node',
      'Connection: Keep-Alive',
      'accept: \t*/* ',
      'sec-fetch-mode: cors',
    ]

    expect(parsed(withHeader(lines.slice(0, 2).join('\r\n')))?.rawHeaders).to.deep.equal([
      'Host',
      'h',
      'USER-AGENT',
      'node',
      'Connection',
      'Keep-Alive',
    ])
    expect(parsed(withHeader(lines[3] ?? ''))).not.to.equal(undefined)
  })

  for (const [name, text] of Object.entries(declined)) {
    it(`is not ${name}`, () => {
      expect(parsed(text)).to.equal(undefined)
    })
  }
})
