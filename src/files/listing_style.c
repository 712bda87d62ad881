// SPDX-License-Identifier: MIT
//
// How a listing looks, and the policy that lets a browser apply this style and load nothing at all. The hash is
// that of the style's octets; a test computes it anew and says what it should be.

#include "files/listing_page.h"

const char *const listing_page_policy =
    "default-src 'none'; style-src 'sha256-tRygISwYdM05pd6v0zTxynfUetGQ0wKNSE1p1EbP4do='; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char *const listing_page_style =
    ":root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--ink:#1d2433;--dim:#667085;--line:#e4e7ec;"
    "--over:#f2f6ff;--link:#1a4fd6;--dir:#3b82f6;--pic:#0d9488;--play:#c026d3;--pack:#b45309;--doc:#dc2626}"
    "@media(prefers-color-scheme:dark){:root{--page:#0e1116;--card:#161b22;--ink:#e3e8f0;--dim:#8d98aa;"
    "--line:#272e3a;--over:#1c2534;--link:#8ab4ff;--dir:#60a5fa;--pic:#2dd4bf;--play:#e879f9;--pack:#fbbf24;"
    "--doc:#f87171}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}"
    "main{max-width:62rem;margin:0 auto;padding:2.5rem 1.25rem 3rem}"
    "a{color:inherit;text-decoration:none}"
    "a:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:4px}"
    "h1{margin:0 0 .25rem;font-size:1.375rem;font-weight:600;line-height:1.4;overflow-wrap:anywhere}"
    "h1 a{color:var(--link)}h1 a:hover{text-decoration:underline}"
    "h1 span{color:var(--dim);font-weight:400;padding:0 .3em}"
    "p{margin:0;color:var(--dim)}"
    "table{width:100%;margin-top:1.25rem;border:1px solid var(--line);border-radius:10px;border-spacing:0;"
    "background:var(--card);overflow:hidden}"
    "th{padding:.55rem 1rem;font-size:.8125rem;font-weight:600;text-align:left;color:var(--dim)}"
    "th a{display:inline-block}th a:hover{color:var(--ink)}"
    "th[aria-sort]{color:var(--ink)}"
    "th[aria-sort=ascending] a::after{content:' \\2191'}"
    "th[aria-sort=descending] a::after{content:' \\2193'}"
    "td{padding:0 1rem;border-top:1px solid var(--line);color:var(--dim);white-space:nowrap;"
    "font-variant-numeric:tabular-nums}"
    "th+th,td+td{text-align:right;width:1%;white-space:nowrap}"
    "td:first-child{padding:0;color:var(--ink);white-space:normal}"
    "td a,td.plain>div{display:flex;align-items:flex-start;gap:.7rem;padding:.5rem 1rem;overflow-wrap:anywhere}"
    "tr:hover td{background:var(--over)}td a:hover bdi{color:var(--link);text-decoration:underline}"
    "td.plain>div,td.plain>p{color:var(--dim)}td.plain>p{padding:.5rem 1rem}"
    "bdi{min-width:0}"
    "bdi i{font:.85em ui-monospace,Menlo,Consolas,monospace;color:var(--doc)}"
    "svg{flex:none;width:1.125rem;height:1.125rem;margin-top:.19rem;color:var(--dim);fill:none;stroke:currentColor;"
    "stroke-width:1.4;stroke-linecap:round;stroke-linejoin:round}"
    "svg[hidden]{display:none}"
    ".dir{color:var(--dir);fill:currentColor;fill-opacity:.22}.pic{color:var(--pic)}.play{color:var(--play)}"
    ".pack{color:var(--pack)}.doc{color:var(--doc)}"
    "@media(max-width:40rem){main{padding:1.25rem .75rem 2rem}h1{font-size:1.2rem}"
    "tr{display:flex;flex-wrap:wrap}thead tr{padding:.15rem 0}"
    "tbody tr{border-top:1px solid var(--line);padding-bottom:.5rem}"
    "th{width:auto!important}td{border:0;font-size:.8125rem}"
    "td:first-child{flex:0 0 100%;font-size:1rem}td a,td.plain>div{padding:.6rem .9rem .1rem}"
    "td+td{width:auto;padding:0 0 0 2.7rem}td+td+td{padding-left:1rem}td:empty+td{padding-left:2.7rem}td:empty{display:none}"
    "tr:hover td{background:none}}";
