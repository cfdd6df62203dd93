// SPDX-License-Identifier: Apache-2.0
// The script of the documents at /docs/: the theme, and the search.
import '../theme';
import './docs.css';
import { attachSearch } from './search';

const place = document.getElementById('search');
if (place) attachSearch(place);
// On a narrow screen the page comes first.
const pages = document.querySelector('nav details');
if (pages && window.matchMedia('(max-width: 800px)').matches) pages.removeAttribute('open');
