// The commands that lock objects keep encoded: shared by those whose names are of one length.

#include "sync/operation/shared_commands.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "script/writer.h"
#include "sync/operation/command_template.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/recipe.h"

namespace holdfast::sync {
namespace {

const std::string kClient = "client";
constexpr OwnerNumber kAlice{kFirstOwnerNumber};
constexpr OwnerNumber kBob{kFirstOwnerNumber + 1};

std::string release_of(const LockName& name, OwnerNumber owner) {
  std::string command;
  script::Writer writer(command, false, "publish");
  lock_recipe().release(writer, {name, owner_field(kClient, owner)});
  return command;
}

CommandTemplate made_for(const LockName& name) {
  const std::string command = release_of(name, kAlice);
  auto made = CommandTemplate::of({command, resp::ReplyKinds::any(), name.bytes(),
                                   lock_recipe().owner_argument(), kClient, kAlice});
  return *made;
}

std::string appended(const CommandTemplate& made, const LockName& name, OwnerNumber owner) {
  std::string out;
  (void)made.append(out, name.bytes(), kClient, owner);
  return out;
}

TEST(CommandTemplateTest, ATemplateWritesTheCommandOfEachNameOfItsShape) {
  const CommandTemplate made = made_for(LockName("orders:1"));
  for (const char* const other : {"orders:1", "orders:2", "invoices"}) {
    const LockName name(other);
    EXPECT_EQ(made_for(name).shape(), made.shape());
    EXPECT_EQ(appended(made, name, kBob), release_of(name, kBob));
  }
}

TEST(CommandTemplateTest, NamesThatAreWrittenInAnotherWayHaveAnotherShape) {
  const std::string shape = made_for(LockName("orders:1")).shape();
  for (const char* const other :
       {"orders:10", "{order}1", "EVALSHA", "1", "2", "publish", "$8\r\n"}) {
    const LockName name(other);
    const CommandTemplate made = made_for(name);
    EXPECT_NE(made.shape(), shape) << other;
    EXPECT_EQ(appended(made, name, kBob), release_of(name, kBob)) << other;
  }
}

CommandsPtr commands_for(const LockName& name, Millis lease = Millis(30'000)) {
  const CommandTemplate made = made_for(name);
  return CommandsPtr(new Commands(made, made, lease, "publish"));
}

TEST(SharedCommandsTest, ThoseOfOneShapeAreShared) {
  SharedCommands shared;
  const CommandsPtr first = shared.share(lock_recipe(), commands_for(LockName("a1")));
  EXPECT_EQ(shared.share(lock_recipe(), commands_for(LockName("a2"))), first);
  EXPECT_NE(shared.share(lock_recipe(), commands_for(LockName("a23"))), first);
  EXPECT_NE(shared.share(lock_recipe(), commands_for(LockName("a2"), Millis(1))), first);
  EXPECT_NE(shared.share(fair_lock_recipe(), commands_for(LockName("a2"))), first);
}

TEST(SharedCommandsTest, WhatNoLockObjectHasIsForgotten) {
  SharedCommands shared;
  const CommandsPtr kept = shared.share(lock_recipe(), commands_for(LockName("kept")));
  for (int length = 10; length < 200; ++length) {
    (void)shared.share(lock_recipe(), commands_for(LockName(std::string(length, 'x'))));
  }
  EXPECT_LE(shared.size(), 20U);
  EXPECT_EQ(shared.share(lock_recipe(), commands_for(LockName("hold"))), kept);
}

}  // namespace
}  // namespace holdfast::sync
