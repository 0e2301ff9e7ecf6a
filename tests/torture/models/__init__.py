"""Small models of what may happen in any order, checked in all orders by Spin."""
