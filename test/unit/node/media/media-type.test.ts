import { expect } from 'chai'
import { mediaTypeOf } from '../../../../node/media/media-type.ts'

const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><text>high water</text></svg>'

describe('the type of a medium', () => {
  const drawings: Readonly<Record<string, readonly [text: string, declared: string | undefined]>> =
    {
      'as it is declared': ['<!-- a --><g/>', 'image/svg+xml; charset=utf-8'],
      'by its start': [DRAWING, undefined],
      'declared as XML': [`<?xml version="1.0"?>\n<!-- a -->\n${DRAWING}`, 'application/xml'],
      'behind a doctype and a mark': [`\ufeff<!DOCTYPE svg PUBLIC "a" "b">${DRAWING}`, 'text/xml'],
    }
  for (const [name, [text, declared]] of Object.entries(drawings)) {
    it(`refuses an SVG drawing instead of taking its source for a text: ${name}`, () => {
      expect(() => mediaTypeOf(Buffer.from(text), declared)).to.throw('SVG drawing')
    })
  }

  it('takes pages with drawings, other XML, and plain texts for what they are', () => {
    expect(kindOf(`<html><body>${DRAWING}</body></html>`)).to.equal('html')
    expect(kindOf(`<!-- a --> <!-- b --><html>${DRAWING}</html>`)).to.equal('html')
    expect(kindOf(`${'<!---->'.repeat(500)}<tides/>`)).to.equal('text')
    expect(kindOf('<?xml version="1.0"?><tides/>', 'application/xml')).to.equal('text')
    expect(kindOf(DRAWING, 'text/plain')).to.equal('text')
  })
})

function kindOf(text: string, declared?: string): string {
  return mediaTypeOf(Buffer.from(text), declared).kind
}
