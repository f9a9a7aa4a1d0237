// The one place that knows CAF's version. Says how a handler is written in an actor's interface and
// how a message type is made known. Builds against CAF 0.17.6 (Debian 12) and is meant for 1.x:
// signatures and registration are the only things that differ.
#pragma once

#include <caf/config.hpp>

#if CAF_VERSION < 1800
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#else
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/result.hpp>
#include <caf/type_id.hpp>
#endif

namespace rind {

#if CAF_VERSION < 1800
/// A handler that answers.
template <class In, class Out>
using asks = typename caf::replies_to<In>::template with<Out>;
/// A handler that answers nothing.
template <class In>
using tells = caf::reacts_to<In>;
#else
template <class In, class Out>
using asks = caf::result<Out>(In);
template <class In>
using tells = caf::result<void>(In);
#endif

} // namespace rind

// RIND_LOCAL_MESSAGE(type): values of this type travel between actors of one process and never to
// another node.
#if CAF_VERSION < 1800
#define RIND_BEGIN_LOCAL_MESSAGES()
#define RIND_LOCAL_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)
#define RIND_END_LOCAL_MESSAGES()
#else
#define RIND_BEGIN_LOCAL_MESSAGES() CAF_BEGIN_TYPE_ID_BLOCK(rind, first_custom_type_id)
#define RIND_LOCAL_MESSAGE(type) CAF_ADD_TYPE_ID(rind, (type)) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)
#define RIND_END_LOCAL_MESSAGES() CAF_END_TYPE_ID_BLOCK(rind)
#endif
