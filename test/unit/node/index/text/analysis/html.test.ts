import { expect } from 'chai'
import * as fc from 'fast-check'
import { htmlToText } from 'html-to-text'
import { stripHtml } from '../../../../../../node/index/text/analysis/html-text.ts'

const CASES: readonly (readonly [string, string])[] = [
  ['plain', 'plain'],
  ['<p>one</p><p>two</p>', '\none\n\ntwo\n'],
  ['<b>bo</b>ld', 'bold'],
  ['a &lt;b&gt; &#65;&#x42; &eacute;', 'a <b> AB é'],
  ['&unknown; &#0; &#xd800; & &#1114112;', '&unknown; \ufffd \ufffd & \ufffd'],
  ['1 < 2 > 1', '1 < 2 > 1'],
  ['a<!-- <p>no</p> -->b', 'ab'],
  ['a<!-- open', 'a'],
  ['<!DOCTYPE html>x<?php no ?>', 'x'],
  ['<SCRIPT>if (a<b) "</p>"</SCRIPT>x', '\n\nx'],
  ['<style>p{}</style >x', '\n\nx'],
  ['<script>never closed', '\n'],
  ['<script/>x', '\nx'],
  ['<a href="x>y">link</a>', 'link'],
  ["<a href='x>y'>link</a>", 'link'],
  ['x<a href="open', 'x'],
  ['<![CDATA[1 < 2]]>x', '1 < 2x'],
  ['<br/>x', '\nx'],
  ['a&nbsp;b', 'a\u00a0b'],
  [
    '&hearts; &forall;x&isin;S &notin; &notit; &copy 2 &CounterClockwiseContourIntegral;',
    '♥ ∀x∈S ∉ &notit; © 2 ∳',
  ],
  ['&hellip', '…'],
]

/** The symbols of HTML 4, section 24.3.1, other than Greek letters. */
const SYMBOLS =
  'fnof ƒ bull • hellip … prime ′ Prime ″ oline ‾ frasl ⁄ weierp ℘ image ℑ real ℜ trade ™ ' +
  'alefsym ℵ larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ ' +
  'forall ∀ part ∂ exist ∃ empty ∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ minus − lowast ∗ ' +
  'radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨ cap ∩ cup ∪ int ∫ there4 ∴ sim ∼ cong ≅ asymp ≈ ne ≠ ' +
  'equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ nsub ⊄ sube ⊆ supe ⊇ oplus ⊕ otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈ ' +
  'rceil ⌉ lfloor ⌊ rfloor ⌋ loz ◊ spades ♠ clubs ♣ hearts ♥ diams ♦'

describe('stripHtml', () => {
  for (const [html, expected] of CASES) {
    it(html, () => {
      expect(stripHtml(html).text).to.equal(expected)
    })
  }

  it('knows the symbols of HTML 4', () => {
    const words = SYMBOLS.split(' ')
    const names = words.filter((_, at) => at % 2 === 0)
    const symbols = words.filter((_, at) => at % 2 === 1)

    expect(names.map((name) => stripHtml(`&${name};`).text)).to.deep.equal(symbols)
  })

  it('finds the words that html-to-text finds', () => {
    const word = fc.stringMatching(/^[a-z]{1,5}$/)
    const tag = fc.constantFrom('p', 'div', 'b', 'em', 'h1', 'li', 'section')
    const element = fc.tuple(tag, word).map(([name, text]) => `<${name} id="i">${text}</${name}> `)
    fc.assert(
      fc.property(fc.array(fc.oneof(word, element), { minLength: 1 }), (parts) => {
        const html = parts.join(' ')
        const theirs =
          htmlToText(html, { wordwrap: false })
            .toLowerCase()
            .match(/[a-z]+/g) ?? []
        expect(stripHtml(html).text.match(/[a-z]+/g) ?? []).to.deep.equal(theirs)
      }),
    )
  })

  for (const part of ['<', '&', '<!--', '<a href="', '<script>', '</', '<![CDATA[', '&#']) {
    it(`takes time linear in the length of many ${part}`, () => {
      expect(stripHtml(part.repeat(200_000)).text.length).to.be.at.most(part.length * 200_000)
    })
  }
})
