// Stems as published: the sample vocabularies of the Snowball project, which stand at the head of
// https://snowballstem.org/algorithms/<language>/stemmer.html, word and stem side by side, as of
// Snowball 3.0. English is Porter's first algorithm: M. Porter, "An algorithm
// for suffix stripping", Program 14 (3), 1980, https://snowballstem.org/algorithms/porter/stemmer.html.
// The words are those of its examples, with the stems that all of its steps together give.

import { expect } from 'chai'
import { LANGUAGES } from '../../../../../../node/index/text/analysis/languages.ts'

const PORTER = `
  caresses caress, ponies poni, ties ti, caress caress, cats cat
  feed feed, agreed agre, plastered plaster, bled bled, motoring motor, sing sing
  conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall
  hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky
  relational relat, conditional condit, rational ration, digitizer digit, operator oper
  feudalism feudal, decisiveness decis, hopefulness hope, callousness callous
  vietnamization vietnam, predication predic, formative form, formalize formal
  triplicate triplic, electrical electr, hopeful hope, goodness good
  revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop
  adjustable adjust, defensible defens, irritant irrit, replacement replac, adjustment adjust
  dependent depend, adoption adopt, homologou homolog, communism commun, activate activ
  homologous homolog, effective effect, bowdlerize bowdler
  probate probat, rate rate, cease ceas, controlling control, rolling roll
  generalizations gener, oscillators oscil`

const GERMAN = `
  aufeinander aufeinand, aufeinanderbiss aufeinanderbiss, aufeinanderfolge aufeinanderfolg
  aufeinanderfolgen aufeinanderfolg, aufeinanderfolgend aufeinanderfolg
  aufeinanderfolgende aufeinanderfolg, aufeinanderfolgt aufeinanderfolgt
  aufeinanderschlügen aufeinanderschlug, aufenthalt aufenthalt, aufenthaltes aufenthalt
  auferlegen auferleg, auferlegten auferlegt, auferstehung aufersteh, auferstünde auferstund
  auferweckt auferweckt, aufessen aufess, auffallenden auffall, auffällig auffall
  auffaßt auffasst, auffassung auffass, auffassungsvermögen auffassungsvermog
  kategorie kategori, kategorien kategori, kategorisch kategor, kategorischen kategor
  kater kat, kätzchens katzch, kathedrale kathedral, katholik kathol, katholischer kathol
  kattunhalstücher kattunhalstuch, katzensprung katzenspr, katzenwürde katzenwurd
  kauerte kauert, kaufen kauf, käufer kauf, kaufleute kaufleut, käuflich kauflich`

const FRENCH = `
  continu continu, continua continu, continuait continu, continuation continu
  continuelle continuel, continuellement continuel, continuera continu, continuité continu
  continuons continuon, continué continu, contorsions contors, contournait contourn
  contractions contract, contractée contract, contradictoirement contradictoir
  contraindre contraindr, contraintes contraint, contraires contrair, contraria contrari
  mains main, maintenaient mainten, maintenir mainten, maintenue maintenu, maintint maintint
  mairie mair, maisons maison, majestueusement majestu, majesté majest, majeure majeur
  majordomes majordom, majorités major, maladie malad, maladive malad, maladresses maladress
  maladroitement maladroit`

const SPANISH = `
  checar chec, checoslovaquia checoslovaqui, chefs chefs, chemise chemis, cheques chequ
  chequeo cheque, chester chest, chetumaleños chetumaleñ, cheyenne cheyenn, chiapas chiap
  chicas chic, chicharrones chicharron, chichimecas chichimec, chicles chicl
  torá tor, tórax torax, torcer torc, toreados tor, toreándolo tor, torearlo tor, toreó tore
  toreros torer, tormentas torment, tornados torn, torneos torne, tornillos tornill
  torniquete torniquet, toronto toront, torpedearon torped, torpeza torpez
  torrenciales torrencial, torrente torrent, torreón torreon, torres torr`

const RUSSIAN = `
  вавиловка вавиловк, вагнера вагнер, вагонов вагон, вагоны вагон, важная важн, важнее важн
  важнейшими важн, важничал важнича, важного важн, важностию важност, важностью важност
  вазах ваз, вакханка вакханк, валандался валанда, валериановых валерианов, валерию валер
  валетами валет, валился вал, вальдшнепа вальдшнеп, вальсишку вальсишк, валялись валя
  валяются валя, павильонам павильон, павлиньим павлин, павловной павловн, павловцы павловц
  пагубная пагубн, падает пада, падаль падал, падающего пада, падением паден, паденья паден
  падчерицей падчериц, падшему падш, пазухи пазух, пакетом пакет, пакостей пакост`

const SWEDISH = `
  jakten jakt, jaktbössa jaktböss, jaktkarlarne jaktkarl, jaktkarlens jaktkarl
  jaktlöjtnantens jaktlöjtnant, jalusierna jalusi, jamaika jamaik, jamrande jamr
  jande jand, japanska japansk, jasminer jasmin, jazzvindens jazzvind, jemförelser jemför
  kloaken kloak, klocka klock, klockan klockan, klockans klockan, klockarens klock
  klockarn klockarn, klocklikt klocklik, klockornas klock, klockors klockor
  klokare klok, klokast klok, klokheten klok, klokt klokt, kloliknande klolikn, klorna klorn
  kloster klost, klostergården klostergård, klosterlik klosterlik, klotrund klotrund`

const SAMPLES: Readonly<Record<string, string>> = {
  english: PORTER,
  french: FRENCH,
  german: GERMAN,
  russian: RUSSIAN,
  spanish: SPANISH,
  swedish: SWEDISH,
}

describe('stems as published', () => {
  for (const [name, sample] of Object.entries(SAMPLES)) {
    it(`are those of ${name}`, () => {
      const language = LANGUAGES.find((one) => one.name === name)
      const pairs = sample.split(/[,\n]/).filter((pair) => pair.trim() !== '')
      const expected = pairs.map((pair) => pair.trim().split(' '))

      const found = expected.map(([word = '']) => [word, language?.stem(word)])

      expect(expected.length).to.be.greaterThan(30)
      expect(found).to.deep.equal(expected)
    })
  }
})
