// SPDX-License-Identifier: Apache-2.0
// A real number as the server prints it: the shorter of plain and scientific digits, always with a point or an exponent.

export function realText(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`a number is finite, not ${value}`);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [mantissa, power] = value.toExponential().split('e') as [string, string];
  const exponent = Number(power);
  const scientific = `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  const plain = plainText(value, mantissa.replace(/[-.]/g, ''), exponent);
  const shorter = plain.length <= scientific.length ? plain : scientific;
  return /[.e]/.test(shorter) ? shorter : `${shorter}.0`;
}

function plainText(value: number, digits: string, exponent: number): string {
  const sign = value < 0 ? '-' : '';
  if (exponent >= digits.length - 1) return exponent > 15 ? BigInt(value).toString() : sign + digits.padEnd(exponent + 1, '0');
  if (exponent >= 0) return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
  return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
}

// A real where a number would be an integer: real(1) is 1.0.
export class Real {
  constructor(readonly value: number) {
    if (!Number.isFinite(value)) throw new RangeError(`a number is finite, not ${value}`);
  }
  toString(): string {
    return realText(this.value);
  }
}

export function real(value: number): Real {
  return new Real(value);
}
