// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import { listenToKeys } from './keys';
import { begin } from './session';
import { App } from './shell';
import './style.css';
import './pages.css';

listenToKeys();
void begin();
render(<App />, document.getElementById('app')!);
