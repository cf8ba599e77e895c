import { seededRandom, type Random } from '../../../lib/random.ts'

/** Chance with a seed of its own, so that one choice more or less changes no others. */
export class Dice {
  readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  static of(seed: number): Dice {
    return new Dice(seededRandom(seed))
  }

  /** Between the two, evenly. */
  between(least: number, most: number): number {
    return least + (most - least) * this.random()
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  pick<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.random() * values.length)]
  }

  /** So many different ones of the values, or all, in any order. */
  some<T>(values: readonly T[], count: number): readonly T[] {
    const rest = [...values]
    return Array.from({ length: count }, () =>
      rest.splice(Math.floor(this.random() * rest.length), 1),
    ).flat()
  }

  /** For other dice. */
  seed(): number {
    return Math.floor(this.random() * 2 ** 31)
  }
}
