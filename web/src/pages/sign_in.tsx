// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';
import icon from '../icon.svg';
import { signIn, signInError } from '../session';

export function SignInPage() {
  const [value, setValue] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!value.trim()) return;
    setBusy(true);
    await signIn(value);
    setBusy(false);
  };
  return (
    <main id="main" class="sign-in">
      <h1>
        <img src={icon} alt="" width="28" height="28" /> Allotter
      </h1>
      <form onSubmit={submit}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          autoFocus
          spellcheck={false}
          value={value}
          aria-invalid={signInError.value !== ''}
          aria-describedby="sign-in-error"
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <p id="sign-in-error" role="alert" class="bad">
          {signInError.value}
        </p>
        <button type="submit" class="primary" disabled={busy}>
          Sign in
        </button>
      </form>
      <p class="quiet">
        A token is made by whoever runs the server: <code>allot token create NAME --scope read</code>. It is kept in this tab, until it is
        closed.
      </p>
    </main>
  );
}
