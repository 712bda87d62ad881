// SPDX-License-Identifier: MIT
//
// Responses of a configuration: fields, codings, and redirects. The user of each function is its
// conf_site or conf_redirect.
#ifndef PROGRAM_CONF_RESPONSE_H
#define PROGRAM_CONF_RESPONSE_H

#include "conf/conf.h"

// The innermost scope of a request.
const conf_scope *conf_response_scope(const skua_request *request, const conf_site *site);

// Whether networks let a request come to a scope. A client whose address a proxy keeps to itself is in no network.
bool conf_response_may_come(const skua_request *request, const conf_scope *scope);

// Whether the request's route is that of a redirect.
bool conf_response_is_redirect(const skua_request *request, const conf_site *site);

// Middleware around all requests of a site.
void conf_response_before(skua_request *request, void *site);
void conf_response_head(skua_request *request, int status, void *site);
void conf_response_end(skua_request *request, skua_end how, void *site);

// The pages for errors of a site.
void conf_response_error(skua_request *request, int status, skua_slice sentence, void *site);

// Middleware that responds to preflights of CORS.
void conf_preflight_before(skua_request *request, void *site);

// Middleware that sends to a site's canonical host and scheme.
void conf_canonical_before(skua_request *request, void *site);

// Handler of a redirect.
void conf_redirect_handle(skua_request *request, void *redirect);

// Middleware for hosts that no site has.
void conf_misdirected_before(skua_request *request, void *nothing);

#endif
